import type { Answer } from './calls.ts'

type Page = { data: { id: string | number }[]; has_more: boolean; next_cursor?: string }
// biome-ignore lint/suspicious/noExplicitAny: any input of a list operation; `Parameters` restores its type
type List = (call?: any) => Answer<Page>
type PageOf<L extends List> = Awaited<ReturnType<L>>
/** A list without a cursor is a type error: it would silently end after its first page. */
type CallOf<L extends List> = 'next_cursor' extends keyof PageOf<L> ? Parameters<L> : never

/**
 * Every row of a cursor list. It reads a page when the loop needs it: `for await (const product of all(api.v4ListProducts)) …`.
 *
 * When the row of the cursor has been deleted meanwhile, the service begins again with the first page. `all` then skips rows that it has already
 * returned, so no row comes twice. For this it keeps their ids until the end.
 */
export async function* all<L extends List>(list: L, ...[call]: CallOf<L>): AsyncGenerator<PageOf<L>['data'][number], void, undefined> {
  const returned = new Set<string | number>()
  let cursor: string | undefined = call?.query?.starting_after
  do {
    const page: Page = await list({ ...call, query: { ...call?.query, ...(cursor !== undefined && { starting_after: cursor }) } })
    for (const row of page.data) {
      if (returned.has(row.id)) continue
      returned.add(row.id)
      yield row
    }
    // The list of events has no `next_cursor` where the request has neither cursor nor filter; the id of its last row is one.
    cursor = page.next_cursor ?? (page.has_more ? page.data.at(-1)?.id.toString() : undefined)
  } while (cursor !== undefined)
}

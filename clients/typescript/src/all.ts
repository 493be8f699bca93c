import type { Answer } from './calls.ts'

type Page = { data: { id: string | number }[]; next_cursor?: string }
// biome-ignore lint/suspicious/noExplicitAny: whatever the list takes; `Parameters` gives it back
type List = (call?: any) => Answer<Page>
type PageOf<L extends List> = Awaited<ReturnType<L>>
/** A list without a cursor would end after its first page without a word. */
type CallOf<L extends List> = 'next_cursor' extends keyof PageOf<L> ? Parameters<L> : never

/**
 * Every row of a cursor list, page by page as they are asked for: `for await (const product of all(api.v4ListProducts)) …`.
 *
 * When the row a cursor names is deleted meanwhile, the service begins again with the first page. Rows that were given are then left out,
 * so none comes twice; for that their ids are kept until the end.
 */
export async function* all<L extends List>(list: L, ...[call]: CallOf<L>): AsyncGenerator<PageOf<L>['data'][number], void, undefined> {
  const given = new Set<string | number>()
  let cursor: string | undefined = call?.query?.starting_after
  do {
    const page: Page = await list({ ...call, query: { ...call?.query, ...(cursor !== undefined && { starting_after: cursor }) } })
    for (const row of page.data) {
      if (given.has(row.id)) continue
      given.add(row.id)
      yield row
    }
    cursor = page.next_cursor
  } while (cursor !== undefined)
}

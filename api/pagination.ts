/** The three kinds of v4 lists. Each handler reads one row more than it shows, to know whether rows follow. */

type Page<Url, Item, Row> = { url: Url; rows: Row[]; limit: number; item: (row: Row) => Item }

/** `limit` with `offset`: has_more, never next_cursor. */
export const offsetPage = <const Url extends string, Item, Row>({ url, rows, limit, item }: Page<Url, Item, Row>) => ({
  object: 'list' as const,
  url,
  data: rows.slice(0, limit).map(item),
  has_more: rows.length > limit,
})

/** `limit` with `starting_after`: next_cursor is the id of the last row, present only when rows follow. */
export function cursorPage<const Url extends string, Item extends { id: string }, Row>(page: Page<Url, Item, Row>) {
  const list = offsetPage(page)
  const last = list.data.at(-1)
  return list.has_more && last ? { ...list, next_cursor: last.id } : list
}

/** All rows at once. */
export const fullList = <const Url extends string, Item>(url: Url, data: Item[]) => ({
  object: 'list' as const,
  url,
  data,
  has_more: false as const,
})

/** The header of an answer whose cursor names no row of the list, so that the answer is the first page. */
export const restartedHeader = (restarted: boolean): Record<string, string> => (restarted ? { 'X-Qon-Pagination-Restarted': 'true' } : {})

/** The header with the number of users whose posted facts are not yet in the answer. */
export const behindHeader = (users: number): Record<string, string> => (users > 0 ? { 'X-Facts-Behind': String(users) } : {})

/** The same as a field, for an answer that is no list. */
export const behindField = (users: number): { behind?: number } => (users > 0 ? { behind: users } : {})

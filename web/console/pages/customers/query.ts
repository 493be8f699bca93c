import { filtersOf, type Search } from '../../data/address.ts'
import type { Input } from '../../data/operations.ts'

type Query = NonNullable<Input<'v4ListCustomers'>['query']>
type SortBy = NonNullable<Query['sort_by']>

export const ON_PAGE = 50
/** The newest first, as the API sorts without being asked. */
export const SORTED_BY = '-since'

/** Who is selected by the address. */
export const selectionOf = (search: Search): Pick<Query, 'search' | 'filter[status][]' | 'filter[target_platform][]'> => ({
  ...(search.q && { search: search.q }),
  ...filtersOf(search),
})

export function listQuery(search: Search): Query {
  const sort = search.sort ?? SORTED_BY
  return {
    ...selectionOf(search),
    limit: ON_PAGE,
    sort_by: sort.replace(/^-/, '') as SortBy,
    sort_order: sort.startsWith('-') ? 'desc' : 'asc',
    ...(search.cursor && { starting_after: search.cursor }),
  }
}

import type { Search } from '../../data/address.ts'
import type { Input } from '../../data/operations.ts'
import { spanOf } from '../../data/spans.ts'

type Query = NonNullable<Input<'v4ListIntegrationDeliveries'>['query']>
type Status = NonNullable<Query['filter[status][]']>[number]

export const STATUSES: readonly (readonly [Status, string])[] = [
  ['pending', 'Pending'],
  ['retrying', 'Retrying'],
  ['held', 'Held'],
  ['delivered', 'Delivered'],
  ['failed', 'Failed'],
]

const FILTERS = ['f.status', 'f.customer', 'f.name', 'f.replay', 'range', 'from', 'to']
export const NO_FILTER: Search = Object.fromEntries([...FILTERS, 'after'].map(name => [name, undefined]))
export const isFiltered = (search: Search): boolean => FILTERS.some(name => search[name] !== undefined)

export const statusOf = (search: Search): Status | undefined => STATUSES.find(([status]) => status === search['f.status'])?.[0]

/** `now`: the second at which a span such as *last hour* ends. */
export function queryOf(search: Search, now: number): Query {
  const { from, to } = spanOf(search, now)
  const status = statusOf(search)
  return {
    limit: 50,
    ...(status && { 'filter[status][]': [status] }),
    ...(search['f.customer'] && { 'filter[user_id]': search['f.customer'] }),
    ...(search['f.name'] && { 'filter[event_name][]': [search['f.name']] }),
    ...(search['f.replay'] && { 'filter[replay_id]': search['f.replay'] }),
    ...(from && { from }),
    ...(to && { to }),
    ...(search.after && { starting_after: search.after }),
  }
}

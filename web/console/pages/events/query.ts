import type { Search } from '../../data/address.ts'
import type { Input } from '../../data/operations.ts'
import { spanOf } from '../../data/spans.ts'

type Query = NonNullable<Input<'v4ListEvents'>['query']>

export const LIMIT = 40

/** Names of events in the address: `f.name=trial_started,trial_converted`. */
export const namesOf = (search: Search): string[] => search['f.name']?.split(',').filter(Boolean) ?? []

/** Whether the address shows a part of the log. */
export const isFiltered = (search: Search): boolean =>
  ['f.name', 'f.customer', 'range', 'from', 'to'].some(name => search[name] !== undefined)

/** What the address asks for. `now`: the second at which a span such as *last hour* ends; it stays the same while one looks at pages of it. */
export function queryOf(search: Search, now: number): Query {
  const names = namesOf(search)
  const { from, to } = spanOf(search, now)
  return {
    limit: LIMIT,
    sort_order: 'desc',
    ...(names.length > 0 && { 'filter[event_name][]': names }),
    ...(search['f.customer'] && { 'filter[customer_uid]': search['f.customer'] }),
    ...(from !== undefined && { 'filter[from]': from }),
    ...(to !== undefined && { 'filter[to]': to }),
    ...(search.after && { starting_after: search.after }),
  }
}

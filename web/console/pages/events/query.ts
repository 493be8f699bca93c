import type { Search } from '../../data/address.ts'
import type { Input } from '../../data/operations.ts'

type Query = NonNullable<Input<'v4ListEvents'>['query']>

export const HOURS: Record<string, number> = { '1h': 1, '24h': 24, '7d': 168, '30d': 720 }
export const SPANS: Record<string, string> = { '1h': 'Last hour', '24h': 'Last 24 hours', '7d': 'Last 7 days', '30d': 'Last 30 days' }
export const LIMIT = 40

const iso = (second: number) => new Date(second * 1000).toISOString().replace('.000', '')

/** Names of events in the address: `f.name=trial_started,trial_converted`. */
export const namesOf = (search: Search): string[] => search['f.name']?.split(',').filter(Boolean) ?? []

/** Whether the address shows a part of the log. */
export const isFiltered = (search: Search): boolean =>
  ['f.name', 'f.customer', 'range', 'from', 'to'].some(name => search[name] !== undefined)

/** The span of the address, as ISO times: one that ends now, or two moments. */
export function spanOf(search: Search, now: number): { from: string | undefined; to: string | undefined } {
  const hours = HOURS[search.range ?? '']
  const [from, to] = hours === undefined ? [secondOf(search.from), secondOf(search.to)] : [now - hours * 3_600, undefined]
  return { from: from === undefined ? undefined : iso(from), to: to === undefined ? undefined : iso(to) }
}

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

/** A link that somebody has typed may have anything there. */
function secondOf(text: string | undefined): number | undefined {
  const second = Number(text)
  return text !== undefined && Number.isSafeInteger(second) && second >= 0 && second < 10_000_000_000 ? second : undefined
}

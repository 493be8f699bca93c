import type { Db } from '../../../store/connect.ts'
import { scaled } from '../../decimal.ts'
import { FACTOR_PLACES } from '../../rates/factors.ts'

/** What facts of a currency and a day of purchase contribute at the rates of now. */
export type Dated = { currency: string | null; boughtOn: string | null; contribution: bigint }

/** The days of UTC on which rates changed, in order, of the time since so many seconds ago. */
export type RateEdges = { days: string[]; ago: number }

/** Earlier changes are told with the first of these days. */
const MOST_DAYS = 31

// Rates have real time; the clock of an environment may be ahead, so a length of time is given. A row for each statement that changed rates is far less
// than the rates themselves.
const CHANGED = `
select distinct (v.changed_at at time zone 'UTC')::date::text as day from rate_versions v, causes_known k
where v.changed_at > greatest(k.since, clock_timestamp() - make_interval(secs => $1)) order by day desc limit ${MOST_DAYS}`

export async function rateEdges(db: Db, ago: number): Promise<RateEdges> {
  const { rows } = await db.query<{ day: string }>(CHANGED, [ago])
  return { days: rows.map(({ day }) => day).reverse(), ago }
}

// The first edge is the beginning of the time, the last one is now, the others are the ends of the days.
const FACTORS = `
select k.n::int - 1 as pair, b.n::int - 1 as edge,
  case when k.currency = $3 then 1 else rate_quotient(usd_rate_at(k.currency, k.day, b.at), usd_rate_at($3, k.day, b.at)) end::text as factor
from unnest($1::text[], $2::date[]) with ordinality k(currency, day, n)
cross join (
  select * from unnest(array[clock_timestamp() - make_interval(secs => $4)] ||
    array(select (d + 1)::timestamp at time zone 'UTC' from unnest(($5::date[])[:cardinality($5::date[]) - 1]) d order by d) ||
    array['infinity'::timestamptz]) with ordinality b(at, n)) b`

/**
 * The contributions at the rates of each edge: at the beginning, after each day of changes. Null: no rates changed, or a contribution is no product
 * with a factor. A currency that has no rate now keeps what it contributes, by amounts that are stated in USD.
 */
export async function pricesAt(db: Db, sums: readonly Dated[], target: string, { days, ago }: RateEdges): Promise<bigint[][] | null> {
  if (days.length === 0) return null
  const { rows } = await db.query<{ pair: number; edge: number; factor: string | null }>(FACTORS, [
    sums.map(({ currency }) => currency ?? target),
    sums.map(({ boughtOn }) => boughtOn ?? '1970-01-01'),
    target,
    ago,
    days,
  ])
  const factors = sums.map(() => new Array<bigint | null>(days.length + 1).fill(null))
  for (const { pair, edge, factor } of rows) factors[pair]![edge] = factor === null ? null : scaled(factor, FACTOR_PLACES)
  const prices = sums.map(({ contribution }, i) => {
    const own = factors[i]!
    const now = own.at(-1)!
    if (now === null || now === 0n) return own.map(() => contribution)
    return contribution % now === 0n ? own.map(factor => (factor === null ? 0n : (contribution / now) * factor)) : null
  })
  if (prices.includes(null)) return null
  return Array.from({ length: days.length + 1 }, (_, edge) => prices.map(of => of![edge]!))
}

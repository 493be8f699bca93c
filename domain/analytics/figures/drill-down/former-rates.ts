import type { Db } from '../../../../store/connect.ts'
import { scaled } from '../../../kernel/decimal.ts'
import type { Environment } from '../../../kernel/environment.ts'
import { FACTOR_PLACES } from '../../../purchases/rates/factors.ts'
import { CAUSES_KEPT_DAYS } from '../../facts/erased.ts'

/** The contribution of facts of a currency and a day of purchase (YYYY-MM-DD) at the rates of now. */
export type Dated = { currency: string; boughtOn: string; contribution: bigint }

/** A day of UTC on which rates of a currency changed, and the days of purchases from <= day < until that they concern; null: no limit. */
type RateChange = { currency: string; day: string; from: string | null; until: string | null }

/**
 * `knownSince`: from when on causes are known (Unix seconds of the environment). `begun`: the time since which rates are looked at. `days`: those on
 * which rates changed that may change the number, in order.
 */
export type FormerRates = { knownSince: number; begun: string; days: string[]; changes: RateChange[] }

/**
 * Rates whose change may have changed a number: of these currencies, by their numbers in the vocabulary, on days until `last`. `ago`:
 * changed within so many seconds.
 */
type Concerned = { ago: number; currencies: readonly number[]; target: string; last: string }

/** Earlier changes are shown with the first of these days. */
const MOST_DAYS = 31

// Rates have real time; the clock of an environment may be ahead, so a length of time is given. Nothing was there before the environment. A date that
// is loaded after a later one, or for the first time, concerns the days from it until the next date; one before the first date of its currency also
// those before it. So the rates of today, which are loaded each day, do not concern the days of before.
const CHANGED = `
with times as materialized (
  select ceil(extract(epoch from greatest(k.since, clock_timestamp() + e.clock_offset - interval '${CAUSES_KEPT_DAYS} days')))::float8 as known,
    greatest(k.since, e.created_at, clock_timestamp() - interval '${CAUSES_KEPT_DAYS} days', clock_timestamp() - make_interval(secs => $2)) as begun
  from causes_known k, environments e where e.id = $1
), currencies as materialized (
  select w.word collate "default" as currency from unnest($3::int[]) k(no)
  cross join lateral (select word from fact_words where environment = $1 and no = k.no and word is not null limit 1) w
  union select $4 where cardinality($3::int[]) > 0
), firsts as materialized (
  select c.currency, f.date as first from times t, currencies c left join lateral (
    select date from currency_rates where currency = c.currency and (loaded_at is null or loaded_at <= t.begun) order by date limit 1) f on true
), changed as (
  select f.currency, f.first, r.date, r.at from times t, firsts f cross join lateral (
    select date, loaded_at as at from currency_rates where currency = f.currency and loaded_at > t.begun
    union all
    select date, replaced_at from replaced_rates where currency = f.currency and replaced_at > t.begun) r
  where r.date <= $5::date or r.date <= coalesce(f.first, 'infinity')
), by_day as materialized (
  select currency, (at at time zone 'UTC')::date as day, max(date) as last,
    case when not bool_or(date <= coalesce(first, 'infinity')) then min(date) end as "from"
  from changed group by currency, 2
)
select t.known, t.begun::text, coalesce((
    select json_agg(json_build_object('currency', d.currency, 'day', d.day, 'from', d."from", 'until', n.date) order by d.day)
    from by_day d left join lateral (
      select date from currency_rates where currency = d.currency and date > d.last and (loaded_at is null or loaded_at <= t.begun)
      order by date limit 1) n on true), '[]') as changes
from times t`

export async function formerRates(db: Db, environment: Environment, { ago, currencies, target, last }: Concerned): Promise<FormerRates> {
  const { rows } = await db.query<{ known: number; begun: string; changes: RateChange[] }>({
    name: 'former-rates',
    text: CHANGED,
    values: [environment, ago, currencies, target, last],
  })
  const { known, begun, changes } = rows[0]!
  const days = [...new Set(changes.map(({ day }) => day))].slice(-MOST_DAYS)
  return { knownSince: known, begun, days, changes }
}

// A day ends with the beginning of the next one.
const FACTORS = `
select rate_quotient(usd_rate_at(k.currency, k.day, k.at), usd_rate_at($4, k.day, k.at))::text as factor
from unnest($1::text[], $2::date[], $3::timestamptz[]) with ordinality k(currency, day, at, n) order by n`

/** The contributions of `sum` before the first change that concerns it, and after each of these, which are indexes of days. null: not known. */
export type FormerContributions = { edges: number[]; values: (bigint | null)[] }

/** The changes that concern facts of a currency and a day of purchase, as indexes of days. */
function edgesOf({ currency, boughtOn }: Dated, target: string, days: readonly string[], of: ReadonlyMap<string, RateChange[]>): number[] {
  if (currency === target) return []
  const concerning = [...(of.get(currency) ?? []), ...(of.get(target) ?? [])].filter(
    ({ from, until }) => (from === null || boughtOn >= from) && (until === null || boughtOn < until),
  )
  return [...new Set(concerning.map(({ day }) => Math.max(0, days.indexOf(day))))].sort((a, b) => a - b)
}

/** The contributions at the rates of the time: they are requested only where a change concerns them. */
export async function formerContributions(
  db: Db,
  sums: readonly Dated[],
  target: string,
  { begun, days, changes }: FormerRates,
): Promise<FormerContributions[]> {
  const of = Map.groupBy(changes, ({ currency }) => currency)
  const edges = sums.map(one => edgesOf(one, target, days, of))
  const ends = days.map((day, i) => (i === days.length - 1 ? 'infinity' : new Date(Date.parse(day) + 86_400_000).toISOString()))
  const points = sums.flatMap((one, i) =>
    edges[i]!.length === 0 ? [] : [begun, ...edges[i]!.map(edge => ends[edge]!)].map(at => ({ ...one, at })),
  )
  const factors = await factorsAt(db, points, target)
  let next = 0
  return sums.map(({ contribution }, i) => {
    const own = edges[i]!
    if (own.length === 0) return { edges: own, values: [contribution] }
    const at = factors.slice(next, next + 1 + own.length)
    next += at.length
    return { edges: own, values: priced(contribution, at) }
  })
}

async function factorsAt(db: Db, points: readonly (Dated & { at: string })[], target: string): Promise<(bigint | null)[]> {
  if (points.length === 0) return []
  const { rows } = await db.query<{ factor: string | null }>(FACTORS, [
    points.map(({ currency }) => currency),
    points.map(({ boughtOn }) => boughtOn),
    points.map(({ at }) => at),
    target,
  ])
  return rows.map(({ factor }) => (factor === null ? null : scaled(factor, FACTOR_PLACES)))
}

/**
 * `factors`: the last one is that of now. Without a factor the number had what senders stated in USD, which is not known any more. Nothing is known of
 * a contribution that is no product with the factor of now.
 */
function priced(contribution: bigint, factors: readonly (bigint | null)[]): (bigint | null)[] {
  const now = factors.at(-1) ?? null
  if (now === null || now === 0n || contribution % now !== 0n) return factors.map(() => null)
  return factors.map(factor => (factor === null ? null : (contribution / now) * factor))
}

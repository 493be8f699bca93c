import type { Db } from '../../store/connect.ts'

/** Decimals of a factor. Amount × factor is exact: a sum of such products is rounded once, at the edge. */
export const FACTOR_PLACES = 15

/** On days d with from <= d < until (days since 1970-01-01), an amount × factor ÷ 10^15 is the amount in the target currency. */
export type Factor = { currency: string; from: number; until: number; factor: bigint }

/**
 * The factors of these currencies for the days from <= d < until, in the order of the currencies and days. A currency without any rate has
 * none. `on`: the day whose rates convert everything, YYYY-MM-DD.
 */
export async function factorsTo(
  db: Db,
  target: string,
  { currencies, from, until, on }: { currencies: string[]; from: number; until: number; on?: string | undefined },
): Promise<Factor[]> {
  const { rows } = await db.query<{ currency: string; from: number; until: number; factor: string }>({
    name: on === undefined ? 'factors-by-day' : 'factors-of-one-day',
    text: on === undefined ? BY_DAY : ON_ONE_DAY,
    values: [currencies, target, from, until, ...(on === undefined ? [] : [on])],
  })
  return rows.map(({ factor, ...row }) => ({ ...row, factor: BigInt(factor) }))
}

const UNITS = (factor: string) => `trunc(${factor} * 1000000000000000)::text as factor`

const ON_ONE_DAY = `
select c.currency, $3::int as from, $4::int as until, ${UNITS('f.factor')}
from unnest($1::text[]) with ordinality c(currency, n) cross join lateral (select currency_factor(c.currency, $5::date, $2) as factor) f
where f.factor is not null order by c.n`

// A rate holds from the first of the days, and changes at each later date that has one. A factor changes where one of its two rates does. The
// latest rate of either is found by its day, because a join of two ranges compares every day with every other.
const BY_DAY = `
with given as materialized (
  select currency, min(n) as n from unnest($1::text[] || $2::text) with ordinality c(currency, n) group by currency
), edges as materialized (
  select date '1970-01-01' + $3::int as first, date '1970-01-01' + $4::int as until
), rates as materialized (
  select g.currency, $3::int as day, usd_rate(g.currency, e.first) as usd from given g cross join edges e
  union all
  select g.currency, r.date - date '1970-01-01', r.usd_per_unit from given g cross join edges e cross join lateral (
    select date, usd_per_unit from currency_rates where currency = g.currency and date > e.first and date < e.until offset 0) r
), days as (
  select currency, day from rates
  union
  select g.currency, t.day from given g cross join rates t where t.currency = $2
), latest as (
  select d.currency, d.day, max(s.day) over by_day as source_day, max(t.day) over by_day as target_day,
    lead(d.day, 1, $4::int) over by_day as until
  from days d left join rates s on s.currency = d.currency and s.day = d.day left join rates t on t.currency = $2 and t.day = d.day
  window by_day as (partition by d.currency order by d.day)
)
select l.currency, l.day as from, l.until, ${UNITS('rate_quotient(s.usd, t.usd)')}
from latest l join rates s on s.currency = l.currency and s.day = l.source_day join rates t on t.currency = $2 and t.day = l.target_day
  join given g on g.currency = l.currency
where s.usd is not null and t.usd is not null and l.currency = any ($1) order by g.n, l.day`

/** Another number than before: rates have changed since. */
export async function ratesVersion(db: Db): Promise<number> {
  const { rows } = await db.query<{ version: number }>('select count(*) as version from rate_versions')
  return rows[0]!.version
}

/** Whether amounts can be converted to the currency. */
export async function hasRate(db: Db, currency: string): Promise<boolean> {
  if (currency === 'USD') return true
  const { rowCount } = await db.query('select from currency_rates where currency = $1 limit 1', [currency])
  return rowCount === 1
}

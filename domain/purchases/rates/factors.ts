import type { Db } from '../../../store/connect.ts'
import { scaled } from '../../kernel/decimal.ts'

/** Decimals of a factor. Amount × factor is exact: a sum of such products is rounded once, at the edge. */
export const FACTOR_PLACES = 15

/** On days d with from <= d < until (days since 1970-01-01), an amount × factor ÷ 10^15 is the amount in the target currency. */
export type Factor = { currency: string; from: number; until: number; factor: bigint }

/** A rate from a day on, until the next one of its currency; in 10^-15 USD. */
type RateFrom = { day: number; usd: bigint }

type Days = { currencies: string[]; from: number; until: number; on?: string | undefined }

/**
 * The factors of these currencies for the days from <= d < until, in the order of the currencies and days. A currency without any rate has
 * none. `on`: the day whose rates convert everything, YYYY-MM-DD.
 */
export async function factorsTo(db: Db, target: string, { currencies, from, until, on }: Days): Promise<Factor[]> {
  const first = on === undefined ? from : Date.parse(on) / DAY_MS
  const rates = await ratesBetween(db, [...new Set([...currencies, target])], first, on === undefined ? until : first + 1)
  const targets = rates.get(target) ?? []
  return currencies.flatMap(currency => {
    const factors = quotients(rates.get(currency) ?? [], targets)
    return factors.map(({ day, factor }, i) => ({ currency, from: i === 0 ? from : day, until: factors[i + 1]?.day ?? until, factor }))
  })
}

const DAY_MS = 86_400_000

/** a ÷ b of positive numbers of the same unit in 10^-15, half away from zero: as `rate_quotient` of the database. */
const quotient = (a: bigint, b: bigint): bigint => (2n * a * 10n ** BigInt(FACTOR_PLACES) + b) / (2n * b)

/** The quotient changes where one of the two rates does. Both begin on the same day; none without a rate. */
function quotients(sources: RateFrom[], targets: RateFrom[]): { day: number; factor: bigint }[] {
  const all: { day: number; factor: bigint }[] = []
  let [s, t] = [0, 0]
  while (sources.length > 0 && targets.length > 0) {
    const [source, target] = [sources[s]!, targets[t]!]
    all.push({ day: Math.max(source.day, target.day), factor: quotient(source.usd, target.usd) })
    const [nextSource, nextTarget] = [sources[s + 1]?.day ?? Infinity, targets[t + 1]?.day ?? Infinity]
    if (nextSource === Infinity && nextTarget === Infinity) break
    if (nextSource <= nextTarget) s++
    if (nextTarget <= nextSource) t++
  }
  return all
}

// The rate of the first day, and each date after it that has a rate. Without statistics a join would read the rates of all currencies.
const BETWEEN = `
select c.currency, r.day, r.usd from unnest($1::text[]) c(currency) cross join lateral (
  select $2::int as day, usd_rate(c.currency, date '1970-01-01' + $2::int)::text as usd
  union all
  (select date - date '1970-01-01', usd_per_unit::text from currency_rates
   where currency = c.currency and date > date '1970-01-01' + $2::int and date < date '1970-01-01' + $3::int order by date)) r
where r.usd is not null`

async function ratesBetween(db: Db, currencies: string[], from: number, until: number): Promise<Map<string, RateFrom[]>> {
  const { rows } = await db.query<{ currency: string; day: number; usd: string }>({
    name: 'rates-between',
    text: BETWEEN,
    values: [currencies, from, until],
  })
  const rates = new Map<string, RateFrom[]>()
  for (const { currency, day, usd } of rows) {
    const of = rates.get(currency) ?? []
    if (of.length === 0) rates.set(currency, of)
    // The first date of a currency begins no interval: its rate holds before it, too. USD has no dates.
    if (currency !== 'USD' || of.length === 0) of.push({ day, usd: scaled(usd, FACTOR_PLACES) })
  }
  return rates
}

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

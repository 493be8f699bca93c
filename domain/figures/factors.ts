import type { Db } from '../../store/connect.ts'
import { type Factor, factorsTo, ratesVersion } from '../rates/factors.ts'
import type { FactSource, FigureRelation } from './source.ts'

/** The number that stands for the currency USD in the relation of factors, whether or not a fact has the word. */
export const GIVEN_USD = -1

const DAY = 86_400

/**
 * How a statement converts amounts. `factors` (key, factor): amount × factor ÷ 10^15 is the amount in the target currency; `factorKey` makes the key
 * of a currency and a day. One key of small range, because DuckDB joins by such a key as fast as it reads an array. `rated`: the numbers of the
 * currencies that have factors. Days before `first` have the factor of the first, days after `last` that of the last.
 */
export type Exchange = { factors: FigureRelation; rated: readonly number[]; first: number; last: number }

const RATED = `select currency, min(date) - date '1970-01-01' as first, max(date) - date '1970-01-01' as last from currency_rates
  where currency <> 'USD' group by currency`

type Rated = { currency: string; first: number; last: number }

/** What was made of the rates of one version. A relation that is the same object need not be handed over to a database again. */
type Kept = { version: number; rated: Rated[]; exchanges: Map<string, Exchange> }
const kept = new WeakMap<Db, Kept>()
/** Thousands of rows each. */
const MOST_KEPT = 16

/** The version is read before the rates: rates that are newer than it are read again at the next question. */
async function keptOf(db: Db): Promise<Kept> {
  const version = await ratesVersion(db)
  const last = kept.get(db)
  if (last?.version === version) return last
  const { rows: rated } = await db.query<Rated>({ name: 'figures-rated', text: RATED })
  const fresh: Kept = { version, rated, exchanges: new Map() }
  kept.set(db, fresh)
  return fresh
}

/**
 * The exchange to a currency that has a rate. `rateDate` (YYYY-MM-DD): its rates convert everything. Only days on which there are facts are in
 * the relation.
 */
export async function loadExchange(
  db: Db,
  source: FactSource,
  { currency: target, rateDate, now }: { currency: string; rateDate: string | null; now: number },
): Promise<Exchange> {
  const { rated: all, exchanges } = await keptOf(db)
  const numbers = await source.numbersOf([...new Set([...all.map(({ currency }) => currency), 'USD', target])])
  const [first, last] = rateDate === null ? await daysOf(source, all, now) : [0, 0]
  const key = JSON.stringify([target, rateDate, first, last, [...numbers].sort()])
  const known = exchanges.get(key)
  if (known) return known
  const exchange = await exchangeTo(db, target, { all, numbers, first, last, rateDate })
  if (exchanges.size >= MOST_KEPT) exchanges.clear()
  exchanges.set(key, exchange)
  return exchange
}

type Asked = { all: Rated[]; numbers: Map<string, number>; first: number; last: number; rateDate: string | null }

async function exchangeTo(db: Db, target: string, { all, numbers, first, last, rateDate }: Asked): Promise<Exchange> {
  const currencies = ['USD', ...all.map(({ currency }) => currency).filter(currency => numbers.has(currency))]
  const spans = await factorsTo(db, target, { currencies, from: first, until: last + 1, on: rateDate ?? undefined })
  const own = numbers.get('USD')
  const numbersOf = (currency: string) => (currency === 'USD' ? [GIVEN_USD, ...(own === undefined ? [] : [own])] : [numbers.get(currency)!])
  const values = spans.flatMap(span => numbersOf(span.currency).flatMap(number => daily(number, span, first, last)))
  const column = (name: 'key' | 'factor') => ({ name, values: values.map(value => value[name]) })
  return {
    factors: { name: 'factors', columns: [column('key'), { ...column('factor'), wide: true }] },
    rated: currencies.flatMap(numbersOf).filter(number => number !== GIVEN_USD),
    first,
    last,
  }
}

/** A row for each day of the span from `first` to `last`. */
function daily(number: number, { from, until, factor }: Factor, first: number, last: number) {
  const days = { from: Math.max(from, first), until: Math.min(until, last + 1) }
  return Array.from({ length: Math.max(0, days.until - days.from) }, (_, i) => ({
    key: BigInt(number) * BigInt(last - first + 1) + BigInt(days.from + i - first),
    factor,
  }))
}

/** The days between which factors change while there are facts. Outside of them the factors stay. */
async function daysOf(source: FactSource, all: Rated[], now: number): Promise<[first: number, last: number]> {
  if (all.length === 0) return [0, 0]
  const [row] = await source.query({ text: `select min(happened) as first from ${source.dialect.tables.transactions} t` })
  const earliest = row!.first === null ? now : Number(row!.first)
  const last = Math.min(Math.max(...all.map(one => one.last)), Math.floor(now / DAY) + 1)
  const first = Math.max(Math.min(...all.map(one => one.first)), Math.floor(earliest / DAY))
  return [Math.min(first, last), last]
}

/** SQL for the key of the factor of a currency on a day of purchase. */
export const factorKey = (currency: string, day: string, { first, last }: Pick<Exchange, 'first' | 'last'>): string =>
  first === last
    ? `cast(${currency} as bigint)`
    : `cast(${currency} as bigint) * ${last - first + 1} + least(greatest(${day}, ${first}), ${last}) - ${first}`

/** SQL for whether a currency has a rate. */
export const hasFactor = (currency: string, { rated }: Pick<Exchange, 'rated'>): string =>
  rated.length === 0 ? 'false' : `${currency} in (${rated.join(', ')})`

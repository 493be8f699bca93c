import type { Db } from '../../../store/connect.ts'
import { factorsTo, ratesVersion } from '../../purchases/rates/factors.ts'
import { type Exchange, factorRelation, GIVEN_USD, type Rows } from './exchange.ts'
import type { FactSource } from './source.ts'

const DAY = 86_400

const RATED = `select currency, min(date) - date '1970-01-01' as first, max(date) - date '1970-01-01' as last from currency_rates
  where currency <> 'USD' group by currency`

type Rated = { currency: string; first: number; last: number }

/** The relations that were computed from the rates of one version. A relation that is the same object need not be sent to a database again. */
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

type Target = { currency: string; rateDate: string | null; now: number }

/**
 * The exchange to a currency that has a rate. `rateDate` (YYYY-MM-DD): its rates convert everything. Only days on which there are facts are in
 * the relation.
 */
export async function loadExchange(db: Db, source: FactSource, target: Target): Promise<Exchange> {
  const { rated, exchanges } = await keptOf(db)
  const numbers = await source.numbersOf([...new Set([...rated.map(({ currency }) => currency), 'USD', target.currency])])
  const days = target.rateDate === null ? await daysOf(source, rated, target.now) : { first: 0, last: 0, areAll: true }
  const { currencies = [], paid = [], bits = 0 } = source.bounds ?? {}
  const key = JSON.stringify([target.currency, target.rateDate, days, [...numbers].sort(), [...currencies].sort(), [...paid].sort(), bits])
  const known = exchanges.get(key)
  if (known) return known
  const own = ['USD', ...rated.map(({ currency }) => currency).filter(currency => numbers.has(currency))]
  const { first, last } = days
  const spans = await factorsTo(db, target.currency, { currencies: own, from: first, until: last + 1, on: target.rateDate ?? undefined })
  const ofUsd = spans.filter(({ currency }) => currency === 'USD')
  const isRated = new Set(spans.map(({ currency }) => currency))
  const rows: Rows[] = [...isRated].flatMap(currency => {
    const number = numbers.get(currency)
    return number === undefined ? [] : { number, isRated: true, spans: spans.filter(span => span.currency === currency) }
  })
  const ratedNumbers = rows.map(({ number }) => number)
  const unrated = currencies.filter(number => !ratedNumbers.includes(number))
  // One row at least: a fact without an amount finds any.
  const others = source.bounds && rows.length > 0 ? unrated : [...unrated, GIVEN_USD]
  const exchange: Exchange = {
    ...factorRelation([...rows, ...others.map(number => ({ number, isRated: false, spans: ofUsd }))], days, source.bounds ? bits : null),
    ...days,
    rated: ratedNumbers,
    isWhole: source.bounds !== null,
    isRated: source.bounds !== null && paid.every(number => ratedNumbers.includes(number)),
  }
  if (exchanges.size >= MOST_KEPT) exchanges.clear()
  exchanges.set(key, exchange)
  return exchange
}

/** A relation of so many rows is made and joined in no time. */
const MOST_ROWS = 200_000

/**
 * The days of the relation. `areAll`: no fact lies outside of them. Otherwise they are those between which factors change while there are facts;
 * outside of them the factors stay.
 */
async function daysOf(source: FactSource, rated: Rated[], now: number): Promise<{ first: number; last: number; areAll: boolean }> {
  if (rated.length === 0) return { first: 0, last: 0, areAll: true }
  if (source.bounds) {
    const { days, currencies } = source.bounds
    if (currencies.length === 0) return { first: 0, last: 0, areAll: true }
    if ((days.last - days.first + 1) * currencies.length <= MOST_ROWS) return { ...days, areAll: true }
  }
  const [row] = await source.query({ text: `select min(happened) as first from ${source.dialect.tables.transactions} t` })
  const earliest = row!.first === null ? now : Number(row!.first)
  const last = Math.min(Math.max(...rated.map(one => one.last)), Math.floor(now / DAY) + 1)
  const first = Math.max(Math.min(...rated.map(one => one.first)), Math.floor(earliest / DAY))
  return { first: Math.min(first, last), last, areAll: false }
}

import type { Db } from '../../store/connect.ts'
import { scaled } from '../decimal.ts'
import type { FactSource, FigureRelation } from './source.ts'

/** Decimals of a factor of exchange. */
export const FACTOR_PLACES = 15
const ONE = 10n ** BigInt(FACTOR_PLACES)

/** The number that stands for the currency USD in the relation of factors, whether or not a fact has the word. */
export const GIVEN_USD = -1

const DAY = 86_400

/**
 * How a statement converts amounts. `factors` (currency, day, factor): amount × factor ÷ 10^15 is the amount in the target currency. `rated`:
 * the numbers of the currencies that it has. Days before `first` have the factor of the first, days after `last` that of the last.
 */
export type Exchange = { factors: FigureRelation; rated: readonly number[]; first: number; last: number }

type Rates = { currency: string; days: { day: number; usd: bigint }[] }

/** All rates of the currencies that have any, in 10^-15 USD per unit, by day. */
async function loadRates(db: Db): Promise<Rates[]> {
  const { rows } = await db.query<{ currency: string; day: number; usd: string }>({
    name: 'figures-rates',
    text: `select currency, date - date '1970-01-01' as day, usd_per_unit::text as usd from currency_rates order by currency, date`,
  })
  const all: Rates[] = []
  for (const { currency, day, usd } of rows) {
    if (all.at(-1)?.currency !== currency) all.push({ currency, days: [] })
    all.at(-1)!.days.push({ day, usd: scaled(usd, FACTOR_PLACES) })
  }
  return [...all.filter(({ currency }) => currency !== 'USD'), { currency: 'USD', days: [{ day: 0, usd: ONE }] }]
}

/** The rate of a day is that of the latest date until then, else of the earliest later one. Days must be asked for in order. */
function rateByDay({ days }: Rates): (day: number) => bigint {
  let i = 0
  return day => {
    while (i + 1 < days.length && days[i + 1]!.day <= day) i++
    return days[i]!.usd
  }
}

/** a ÷ b in units of 10^-15, half away from zero. */
const quotient = (a: bigint, b: bigint): bigint => (2n * a * ONE + b) / (2n * b)

/**
 * The exchange to a currency that has a rate. `rateDate` (YYYY-MM-DD): its rates convert everything. Only days on which there are facts are in
 * the relation.
 */
export async function loadExchange(
  db: Db,
  source: FactSource,
  { currency: target, rateDate, now }: { currency: string; rateDate: string | null; now: number },
): Promise<Exchange> {
  const all = await loadRates(db)
  const numbers = await source.numbersOf([...all.map(({ currency }) => currency), target])
  const targetRates = all.find(({ currency }) => currency === target)!
  const [first, last] = rateDate === null ? await daysOf(source, all, now) : [0, 0]
  const given = rateDate === null ? null : Date.parse(`${rateDate}T00:00:00Z`) / 1000 / DAY
  const values: { currency: bigint; day: bigint; factor: bigint }[] = []
  const add = (number: number, rates: Rates) => {
    const [from, to] = [rateByDay(rates), rateByDay(targetRates)]
    for (let day = first; day <= last; day++) {
      const factor = rates.currency === target ? ONE : quotient(from(given ?? day), to(given ?? day))
      values.push({ currency: BigInt(number), day: BigInt(day), factor })
    }
  }
  const rated: number[] = []
  for (const rates of all) {
    const number = numbers.get(rates.currency)
    if (rates.currency === 'USD') add(GIVEN_USD, rates)
    if (number === undefined) continue
    rated.push(number)
    add(number, rates)
  }
  const column = (name: 'currency' | 'day' | 'factor') => ({ name, values: values.map(value => value[name]) })
  return {
    factors: { name: 'factors', columns: [column('currency'), column('day'), { ...column('factor'), wide: true }] },
    rated,
    first,
    last,
  }
}

/** The days between which factors change while there are facts. Outside of them the factors stay. */
async function daysOf(source: FactSource, all: Rates[], now: number): Promise<[first: number, last: number]> {
  const changes = all.filter(({ currency }) => currency !== 'USD').flatMap(({ days }) => [days[0]!.day, days.at(-1)!.day])
  if (changes.length === 0) return [0, 0]
  const [row] = await source.query({ text: `select min(happened) as first from ${source.dialect.tables.transactions} t` })
  const earliest = row!.first === null ? now : Number(row!.first)
  const last = Math.min(Math.max(...changes), Math.floor(now / DAY) + 1)
  return [Math.min(Math.max(Math.min(...changes), Math.floor(earliest / DAY)), last), last]
}

/** SQL for the day of the factors that a day of purchase has. */
export const factorDay = (day: string, { first, last }: Pick<Exchange, 'first' | 'last'>): string =>
  first === last ? String(first) : `least(greatest(${day}, ${first}), ${last})`

/** SQL for whether a currency has a rate. */
export const hasFactor = (currency: string, { rated }: Pick<Exchange, 'rated'>): string =>
  rated.length === 0 ? 'false' : `${currency} in (${rated.join(', ')})`

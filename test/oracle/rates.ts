import { type Exact, exact, ONE, over, rounded, times, ZERO } from './exact.ts'
import type { History, Instant, Rate } from './history.ts'

/** Into which currency money is converted, and at which day's rates; no `rateDate`: at those of the day of the purchase. */
export type Conversion = { currency: string; rateDate?: string }

export const dayOf = (at: Instant): string => new Date(at * 1000).toISOString().slice(0, 10)

/** Of the latest day that is not after `date`, else of the earliest. Null: the currency has no rate. */
function rateOn(rates: Rate[], currency: string, date: string): Exact | null {
  if (currency === 'USD') return ONE
  const known = rates.filter(rate => rate.currency === currency).toSorted((a, b) => (a.date < b.date ? -1 : 1))
  const rate = known.findLast(one => one.date <= date) ?? known[0]
  return rate ? exact(rate.usdPerUnit) : null
}

/** To 15 decimals; 1 between equal currencies. Null: one of the two has no rate. */
function factor(history: History, conversion: Conversion, currency: string, at: Instant): Exact | null {
  const date = conversion.rateDate ?? dayOf(at)
  const [from, to] = [rateOn(history.rates, currency, date), rateOn(history.rates, conversion.currency, date)]
  if (!from || !to) return null
  return currency === conversion.currency ? ONE : rounded(over(from, to), 15)
}

/** An amount of a transaction that was bought at `at`. `usd` is what the caller stated for it. Null: it cannot be converted. */
export function converted(
  history: History,
  conversion: Conversion,
  money: { amount: Exact; usd: Exact | null; currency: string | null; at: Instant },
): Exact | null {
  if (money.amount.n === 0n) return ZERO
  const own = money.currency === null ? null : factor(history, conversion, money.currency, money.at)
  if (own) return times(money.amount, own)
  const dollar = factor(history, conversion, 'USD', money.at)
  return money.usd && dollar ? times(money.usd, dollar) : null
}

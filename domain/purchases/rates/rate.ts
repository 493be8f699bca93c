import { isCurrency } from '../../events/money.ts'

/** USD per unit of the currency on a day (YYYY-MM-DD), as a quotient of decimal texts, so that it is rounded in one place. */
export type Rate = { currency: string; date: string; usd: string; per: string }

/** Rates beyond these limits are typing errors. With them no factor is 0. */
const LEAST = 1e-9
const MOST = 1e6

const DECIMAL = /^\d{1,15}(\.\d{1,30})?$/
const DATE = /^\d{4}-\d\d-\d\d$/
const FIRST_DAY = '1970-01-01'

const quoted = (text: string) => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)

/** The error of a day; undefined: none. `latest`: the last day that has begun somewhere. */
export function dayFault(date: string, latest: string): string | undefined {
  if (!DATE.test(date) || !isDay(date)) return `the date ${quoted(date)} must be a day such as 2026-03-01`
  if (date < FIRST_DAY) return `the date ${date} is before ${FIRST_DAY}`
  return date > latest ? `the date ${date} lies in the future` : undefined
}

function isDay(date: string): boolean {
  const ms = Date.parse(`${date}T00:00:00Z`)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date)
}

/** The error of a rate of a valid day; undefined: none. */
export function rateFault({ currency, usd, per }: Rate): string | undefined {
  if (!isCurrency(currency)) return `${quoted(currency)} is not a currency code of ISO 4217 such as EUR`
  const wrong = [usd, per].find(text => !DECIMAL.test(text) || !/[1-9]/.test(text))
  if (wrong !== undefined) return `the rate ${quoted(wrong)} must be a decimal above 0 such as 1.0843`
  const value = Number(usd) / Number(per)
  if (currency === 'USD' && value !== 1) return 'the rate of USD is always 1'
  return value < LEAST || value > MOST ? `the rate of ${currency} must be from 0.000000001 to 1000000 USD per unit` : undefined
}

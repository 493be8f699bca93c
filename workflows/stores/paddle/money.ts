import { exactDecimal } from '../../../domain/kernel/decimal.ts'
import { NotCredible } from '../../../domain/purchases/store-facts/credible.ts'

const SHARE_DIGITS = 6

/** `decimal_places` of Paddle's `/currencies`. */
const DECIMAL_PLACES: Record<string, number> = {
  ...Object.fromEntries(
    [
      ...['ARS', 'AUD', 'BRL', 'CAD', 'CHF', 'CNY', 'COP', 'CZK', 'DKK', 'EUR', 'GBP', 'HKD', 'HUF', 'ILS', 'INR'],
      ...['MXN', 'NOK', 'NZD', 'PEN', 'PLN', 'RUB', 'SEK', 'SGD', 'THB', 'TRY', 'TWD', 'UAH', 'USD', 'ZAR'],
    ].map(currency => [currency, 2]),
  ),
  CLP: 0,
  JPY: 0,
  KRW: 0,
  VND: 0,
}

/** An amount in a currency whose lowest denomination is not known cannot be read. */
export class UnknownCurrency extends NotCredible {
  constructor(currency: string | undefined) {
    super(`the currency ${String(currency).slice(0, 10)} is not known`)
  }
}

/** An amount in the lowest denomination; null where no amount is stated. */
export const paddleAmount = (stated: string | null | undefined): bigint | null =>
  /^-?\d{1,18}$/.test(stated ?? '') ? BigInt(stated!) : null

/** An amount in the lowest denomination as a decimal text. Throws `UnknownCurrency`. */
export function paddlePrice(amount: bigint, currency: string | undefined): string {
  const places = Object.hasOwn(DECIMAL_PLACES, currency ?? '') ? DECIMAL_PLACES[currency!] : undefined
  if (places === undefined) throw new UnknownCurrency(currency)
  return exactDecimal(amount, places)
}

/** earnings ÷ grand total, from 0 to 1, cut after six digits; undefined where Paddle does not state the earnings yet. */
export function paddleShare(totals: { grand_total?: string; earnings?: string | null } | null | undefined): string | undefined {
  const [earnings, all] = [paddleAmount(totals?.earnings), paddleAmount(totals?.grand_total)]
  if (earnings === null || all === null || earnings < 0n || all <= 0n || earnings > all) return undefined
  return exactDecimal((earnings * 10n ** BigInt(SHARE_DIGITS)) / all, SHARE_DIGITS)
}

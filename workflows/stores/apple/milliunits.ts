import { UnreadableContent } from './signed-payload.ts'

const PLACES = 3

function decimal(milliunits: bigint): string {
  const digits = String(milliunits).padStart(PLACES + 1, '0')
  const fraction = digits.slice(-PLACES).replace(/0+$/, '')
  return fraction === '' ? digits.slice(0, -PLACES) : `${digits.slice(0, -PLACES)}.${fraction}`
}

const whole = (value: number, field: string): bigint => {
  if (!Number.isSafeInteger(value) || value < 0) throw new UnreadableContent(`a signed ${field} is no whole number from 0`)
  return BigInt(value)
}

/** Apple states amounts in thousandths of the currency, whatever its own smallest unit is. */
export const amountOf = (milliunits: number): string => decimal(whole(milliunits, 'price'))

/** 100 %, in thousandths of a percent. */
const ALL = 100_000n

/** The share of a price that went back, rounded to a thousandth of the currency; null: all of it. `percentage` in thousandths of a percent. */
export function refundedShare(price: number, percentage: number): string | null {
  const share = whole(percentage, 'revocationPercentage')
  return share >= ALL ? null : decimal((whole(price, 'price') * share + ALL / 2n) / ALL)
}

import { exactDecimal } from '../../../domain/kernel/decimal.ts'
import { UnreadableContent } from './signed-payload.ts'

const PLACES = 3

const whole = (value: number, field: string): bigint => {
  if (!Number.isSafeInteger(value) || value < 0) throw new UnreadableContent(`a signed ${field} is no whole number from 0`)
  return BigInt(value)
}

/** Apple states amounts in thousandths of the currency, whatever its own smallest unit is. */
export const amountOf = (milliunits: number): string => exactDecimal(whole(milliunits, 'price'), PLACES)

/** 100 %, in thousandths of a percent. */
const ALL = 100_000n

/** The refunded share of a price, rounded to a thousandth of the currency; null: all of it. `percentage` in thousandths of a percent. */
export function refundedShare(price: number, percentage: number): string | null {
  const share = whole(percentage, 'revocationPercentage')
  return share >= ALL ? null : exactDecimal((whole(price, 'price') * share + ALL / 2n) / ALL, PLACES)
}

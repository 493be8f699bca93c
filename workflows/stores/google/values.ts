import { exactDecimal, scaled } from '../../../domain/kernel/decimal.ts'
import { secondOf } from '../stated.ts'
import type { Money } from './answers.ts'

const NANO_DIGITS = 9
const SHARE_DIGITS = 6

/** A time of Google's (RFC 3339, up to nine digits of a second); undefined without a readable one. */
export function periodTime(stated: string | undefined): string | undefined {
  const ms = Date.parse(stated ?? '')
  return Number.isNaN(ms) ? undefined : secondOf(ms)
}

/** Whole units and nanos are two parts of one number with one sign. */
export const nanosOf = ({ units, nanos }: Money): bigint => BigInt(units ?? '0') * 10n ** 9n + BigInt(nanos ?? 0)

/** A price; null: none, or an unreadable one. Google leaves out units and nanos of zero. */
export function priceOf(money: Money | undefined): { currency: string; price: string } | null {
  const currency = money?.currencyCode
  if (!money || typeof currency !== 'string' || !/^[A-Z]{3}$/.test(currency)) return null
  if (!/^-?\d{1,18}$/.test(String(money.units ?? '0')) || !Number.isSafeInteger(money.nanos ?? 0)) return null
  return { currency, price: exactDecimal(nanosOf(money), NANO_DIGITS) }
}

/** part ÷ whole, from 0 to 1, cut after six digits; undefined where the quotient has no meaning. */
export function shareOf(part: Money | undefined, whole: Money | undefined): string | undefined {
  const [of, all] = [priceOf(part), priceOf(whole)]
  if (!of || !all || of.currency !== all.currency) return undefined
  const [p, w] = [scaled(of.price, NANO_DIGITS), scaled(all.price, NANO_DIGITS)]
  return p < 0n || w <= 0n || p > w ? undefined : exactDecimal((p * 10n ** BigInt(SHARE_DIGITS)) / w, SHARE_DIGITS)
}

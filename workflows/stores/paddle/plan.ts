import { scaled } from '../../../domain/kernel/decimal.ts'
import type { Plan } from '../../../domain/purchases/subscriptions/credits.ts'
import type { PaddleLine, PaddlePrice } from './answers.ts'
import type { ChargedItem } from './charged-items.ts'
import { paddleAmount, paddlePrice } from './money.ts'

const DAY_MS = 86_400_000
const DAYS_OF: Record<string, number> = { day: 1, week: 7, month: 30, year: 365 }
const RATE_DIGITS = 9
const WHOLE = 10n ** BigInt(RATE_DIGITS)
const daysBetween = (begins: number, ends: number): number => Math.max(1, Math.round((ends - begins) / DAY_MS))

/**
 * The price of a prorated line for a whole period, in the lowest denomination: its unit price if that agrees with the line, else the rate
 * of the line.
 */
function wholeOf({ totals, proration, quantity = 1 }: PaddleLine, price: PaddlePrice | undefined): bigint | null {
  const total = paddleAmount(totals?.total)
  const rate = /^0?\.\d+$|^1(\.0+)?$/.test(proration?.rate ?? '') ? scaled(proration!.rate!, RATE_DIGITS) : 0n
  if (total === null || rate <= 0n) return null
  const unit = paddleAmount(price?.unit_price?.amount)
  const listed = unit === null ? null : unit * BigInt(quantity)
  const off = listed === null ? null : listed * rate - total * WHOLE
  if (off !== null && off < 2n * WHOLE && off > -2n * WHOLE) return listed
  return (2n * total * WHOLE + rate) / (2n * rate)
}

/** The plan of a change that is charged for the rest of a period; null: nothing is prorated, or the plan is not known. */
export function proratedPlan({ transaction: { items = [], currency_code: currency }, lines }: ChargedItem): Plan | null {
  const priceOf = ({ price_id }: PaddleLine) =>
    items.find(({ price }) => price?.id !== undefined && price.id === price_id)?.price ?? undefined
  const { interval = '', frequency = 1 } = lines.map(priceOf).find(price => price?.billing_cycle)?.billing_cycle ?? {}
  const days = DAYS_OF[interval]
  const whole = lines.map(line => wholeOf(line, priceOf(line)))
  if (days === undefined || whole.includes(null)) return null
  const units = whole.reduce<bigint>((all, one) => all + one!, 0n)
  return units > 0n ? { price: paddlePrice(units, currency), days: days * frequency } : null
}

/**
 * The plan of lines that a discount makes free in this transaction alone: the lines without the discount, with the tax that they would
 * have; null: the discount recurs, or the lines do not show it. A product that was never paid before does not recur for its price.
 */
export function freeOncePlan({ transaction, lines }: ChargedItem, { begins, ends }: { begins: number; ends: number }): Plan | null {
  if (transaction.discount?.recur !== false) return null
  let units = 0n
  for (const { totals, tax_rate: rate = '0' } of lines) {
    const subtotal = paddleAmount(totals?.subtotal)
    if (subtotal === null || !/^\d(\.\d+)?$/.test(rate)) return null
    units += (2n * subtotal * (WHOLE + scaled(rate, RATE_DIGITS)) + WHOLE) / (2n * WHOLE)
  }
  return units > 0n ? { price: paddlePrice(units, transaction.currency_code), days: daysBetween(begins, ends) } : null
}

/** The plan of a period that another period shortens. `price`: the charged price; null: nothing, or unknown. */
export const cutPlan = (price: string | undefined, { begins, ends }: { begins: number; ends: number }): Plan | null =>
  price === undefined ? null : { price, days: daysBetween(begins, ends) }

import { scaled } from '../../../domain/kernel/decimal.ts'
import type { ReportedPeriod } from '../../../domain/purchases/store-facts/statement.ts'
import type { ChargedLine } from './order-lines.ts'
import type { OwnedLine } from './subscription-chain.ts'
import { priceOf } from './values.ts'

/** Price and length of a charged period; null: free, or unknown. */
function rateOf({ order, line }: ChargedLine): { currency: string; nanos: bigint; ms: bigint } | null {
  const price = priceOf(line.total ?? (order.lineItems!.length === 1 ? order.total : undefined))
  const { servicePeriodStartTime, servicePeriodEndTime } = line.subscriptionDetails ?? {}
  const ms = Date.parse(servicePeriodEndTime ?? '') - Date.parse(servicePeriodStartTime ?? '')
  if (!price || !(ms > 0)) return null
  const nanos = scaled(price.price, 9)
  return nanos > 0n ? { currency: price.currency, nanos, ms: BigInt(ms) } : null
}

/**
 * Whether a period has a higher or lower level than the period that it replaces, where Google reports a change of plan. Google has no
 * levels, so the price per day decides. Google allows a prorated charge for upgrades only; the price of a prorated charge is not that of
 * the plan.
 */
export function levelOf(owned: OwnedLine, charged: ChargedLine, lines: ChargedLine[]): ReportedPeriod['level'] {
  const { productId, basePlanId, replacementMode } = owned.itemReplacement ?? {}
  const isChange = productId !== undefined && (productId !== owned.productId || basePlanId !== owned.offerDetails?.basePlanId)
  const isFirst = lines.find(({ token, line }) => token === charged.token && line.productId === owned.productId) === charged
  if (!isChange || !isFirst || owned.productId !== charged.line.productId) return undefined
  if (replacementMode === 'CHARGE_PRORATED_PRICE') return { is: 'upgrade', refunded: null }
  const before = lines.slice(0, lines.indexOf(charged)).findLast(({ line }) => line.productId === productId)
  const [now, then] = [rateOf(charged), before && rateOf(before)]
  if (!now || !then || now.currency !== then.currency) return undefined
  const [rate, was] = [now.nanos * then.ms, then.nanos * now.ms]
  if (rate === was) return undefined
  return rate > was ? { is: 'upgrade', refunded: null } : { is: 'downgrade' }
}

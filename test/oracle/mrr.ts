import { type Exact, exact, over, times, ZERO } from './exact.ts'
import { DAY, type History, type Instant } from './history.ts'
import { type Conversion, converted } from './rates.ts'
import { standingAt } from './state.ts'
import type { Period, Subscription } from './subscriptions.ts'
import type { Transaction } from './transactions.ts'

const IN_336THS = { P1W: 1461, P1M: 336, P2M: 168, P3M: 112, P6M: 56, P1Y: 28 }

export function productOf(history: History, transaction: Transaction) {
  if (transaction.product === null) return undefined
  const links = (id: string) => history.products.find(product => product.linked[transaction.store] === id)
  // A base plan that no product names belongs to the product without base plan.
  return links(transaction.product) ?? (transaction.store === 'Android' ? links(transaction.product.split(':')[0]!) : undefined)
}

function durationOf(history: History, transaction: Transaction): keyof typeof IN_336THS {
  const product = productOf(history, transaction)
  if (product?.duration && !transaction.isIntro) return product.duration
  if (transaction.expires === null) return 'P1M'
  const days = (transaction.expires - transaction.at) / DAY
  if (days <= 10) return 'P1W'
  if (days <= 45) return 'P1M'
  if (days <= 75) return 'P2M'
  if (days <= 135) return 'P3M'
  return days <= 270 ? 'P6M' : 'P1Y'
}

export const mrrFactor = (history: History, transaction: Transaction): Exact =>
  over(exact(IN_336THS[durationOf(history, transaction)]), exact(336))

/** The period whose amount counts at `t`, and the monthly amount in the asked currency: null when it cannot be converted. */
export function mrrAt(
  history: History,
  conversion: Conversion,
  subscription: Subscription,
  t: Instant,
  counts: (period: Period) => boolean,
): { m: Exact; unconverted: Transaction | null } {
  const nothing = { m: ZERO, unconverted: null }
  const standing = standingAt(subscription, t)
  if (!standing?.isRenewing || !standing.period.isPaid || !counts(standing.period)) return nothing
  if (standing.state !== 'paid' && standing.state !== 'grace') return nothing
  const { transaction } = standing.period
  const money = converted(history, conversion, transaction)
  return money === null ? { m: ZERO, unconverted: transaction } : { m: times(money, mrrFactor(history, transaction)), unconverted: null }
}

import type { RenewalStatement, ReportedRenewal } from '../../../domain/purchases/store-facts/statement.ts'
import { secondOf, stated } from '../stated.ts'
import type { PaddleSubscription } from './answers.ts'
import { paddleAutoRenews, paddlePaused } from './read-event.ts'

/** Paddle bills a renewal minutes after the end. */
const BILLING_MS = 3_600_000

const earliest = (a: number, b: string | null | undefined): number =>
  Math.min(a, ...[Date.parse(b ?? '')].filter(time => !Number.isNaN(time)))

/**
 * The end of the last period by the present subscription; undefined: the subscription does not show it. While a renewal is not billed yet,
 * the end is an hour later, so that access has no short gap.
 */
export function endOfLastPlan(
  { status, canceled_at, paused_at, scheduled_change, current_billing_period: current }: PaddleSubscription,
  last: { begins: number; ends: number },
  statedAt: number,
): string | undefined {
  if (status === 'canceled') return secondOf(earliest(last.ends, canceled_at))
  if (status === 'paused') return secondOf(earliest(last.ends, paused_at))
  if (status !== 'active' && status !== 'trialing' && status !== 'past_due') return undefined
  const [starts, ends] = [current?.starts_at, current?.ends_at].map(time => Date.parse(time ?? ''))
  // A change begins within the subscription's period. A period of the subscription that begins within this one follows a resumption or a
  // shortened trial.
  const isSame = starts! <= last.begins + BILLING_MS && ends! > last.begins
  // The next period begins at the end of this one: it is billed, but not paid.
  const isNext = Math.abs(starts! - last.ends) <= BILLING_MS
  if (!isSame && !isNext) return undefined
  const end = isSame ? ends! : last.ends
  const isRenewing = status !== 'past_due' && (scheduled_change == null || scheduled_change.action === 'resume')
  return secondOf(isRenewing && statedAt >= end ? end + BILLING_MS : end)
}

/** Whether a lineage renews. `nextProduct`: the product that replaces its product. `isOwned` false: the added product was removed. */
export function paddleRenewals(
  subscription: PaddleSubscription,
  { subject, nextProduct, isOwned }: { subject: string; nextProduct: string | null; isOwned: boolean },
  statedAt: number,
): RenewalStatement[] {
  const isCanceled = subscription.status === 'canceled'
  const common = { kind: 'renewal', origin: 'api', subject } as const
  const reported = stated<ReportedRenewal>({
    autoRenews: isOwned ? paddleAutoRenews(subscription) : false,
    isPaused: paddlePaused(subscription),
    nextProduct,
    gaveUp: subscription.status === undefined ? undefined : isCanceled,
  })
  const canceledAt = Date.parse(subscription.canceled_at ?? '')
  const off =
    isCanceled && !Number.isNaN(canceledAt) ? [{ ...common, statedAt: canceledAt, reported: { autoRenews: false, gaveUp: true } }] : []
  const pausedAt = Date.parse(subscription.paused_at ?? '')
  const isPaused = subscription.status === 'paused' && pausedAt < statedAt
  const paused = isPaused ? [{ ...common, statedAt: pausedAt, reported: { isPaused: true } }] : []
  return [...off, ...paused, { ...common, statedAt, reported }]
}

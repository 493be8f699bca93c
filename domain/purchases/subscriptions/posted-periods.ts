import { flatMapStepwise, type Stepwise, withoutPauses } from '../../kernel/in-steps.ts'
import type { Period } from './period.ts'
import { beginsPeriod, type PostedFact } from './posted.ts'
import { isRefundFact } from './posted-price.ts'

/**
 * `givenUpAt`: when a posted expiry ended billing retry, and with it auto-renew, although no event had switched that off. `back`: the
 * returned part of the amount. `refunds`: the ids of the refunds that name no transaction and are about this period.
 */
export type PostedPeriod = Period & {
  fact: PostedFact
  purchase: null
  transaction: string | null
  amount: bigint | null
  givenUpAt: number | null
  back: bigint
  refunds: string[]
  isPaused: boolean
  plannedProduct: string | null
}

/** An amount decides. Without one it is not known, and the name does. */
const isTrial = ({ name, amount, discounted }: PostedFact): boolean => name === 'trial_started' || (amount === 0n && !discounted)

const least = (a: bigint, b: bigint) => (a < b ? a : b)

/** Several refunds of one period add up. One without an amount is of all that is left; one that is taken back without an amount, of all refunds. */
function applyRefund(period: PostedPeriod, { id, name, at, amount, transaction }: PostedFact): void {
  if (transaction === null) period.refunds.push(id)
  const isReversed = name === 'refund_reversed'
  if (period.amount === null) {
    period.refundedAt = isReversed ? null : at
    return
  }
  const left = period.amount - period.back
  period.back += isReversed ? -least(amount ?? period.back, period.back) : least(amount ?? left, left)
  period.refundedAt = period.back < period.amount ? null : (period.refundedAt ?? at)
}

function applyFact(period: PostedPeriod, fact: PostedFact): void {
  const { name, at, grace, planned } = fact
  switch (name) {
    case 'trial_canceled':
    case 'subscription_canceled':
      if (!period.autoRenewing) break
      period.autoRenewing = false
      period.autoRenewOffAt = at
      period.autoRenewChanges.push(at)
      period.offCauses.push(null)
      break
    case 'trial_uncanceled':
    case 'subscription_uncanceled':
      if (period.autoRenewing) break
      period.autoRenewing = true
      period.autoRenewOffAt = null
      period.autoRenewChanges.push(at)
      break
    case 'trial_billing_retry_entered':
    case 'subscription_billing_retry_entered':
      period.retryAt = at
      period.graceUntil = grace
      break
    case 'trial_expired':
    case 'subscription_expired':
      period.expires = Math.min(period.expires ?? at, at)
      period.endStated = true
      if (period.retryAt !== null && period.retryAt < at) period.givenUpAt = at
      else period.retryAt = null
      break
    case 'subscription_paused':
    case 'subscription_resumed':
      period.isPaused = name === 'subscription_paused'
      break
    case 'product_change_planned':
    case 'product_change_withdrawn':
      period.plannedProduct = name === 'product_change_planned' ? planned : null
      break
    default:
      applyRefund(period, fact)
  }
}

/** As the event that begins it says it. */
function begunPeriod(fact: PostedFact): PostedPeriod {
  const isFree = isTrial(fact)
  return {
    fact,
    purchase: null,
    begins: fact.begins,
    expires: fact.expires !== null && fact.expires > fact.begins ? fact.expires : null,
    trial: isFree,
    paid: !isFree,
    autoRenewing: true,
    autoRenewOffAt: null,
    autoRenewChanges: [],
    offCauses: [],
    isNewBuy: false,
    retryAt: null,
    graceUntil: null,
    refundedAt: null,
    endStated: false,
    statedUntil: null,
    transaction: fact.transaction,
    amount: fact.amount,
    givenUpAt: null,
    back: 0n,
    refunds: [],
    isPaused: false,
    plannedProduct: null,
  }
}

/**
 * The periods of one lineage's events. An event changes the period of its transaction, else the last period that had begun at the time
 * of the event; a refund of an unknown transaction changes none. An event without such a period is ignored.
 */
export function* postedPeriodsInSteps(facts: PostedFact[]): Stepwise<PostedPeriod[]> {
  const periods = yield* flatMapStepwise(facts, fact => (beginsPeriod(fact) ? [begunPeriod(fact)] : []))
  periods.sort((a, b) => a.begins - b.begins)
  // The first of several with one transaction is found: the last entry of a map wins.
  const byTransaction = new Map(periods.map(period => [period.transaction, period] as const).reverse())
  let begun = 0
  for (const fact of facts.filter(fact => !beginsPeriod(fact)).sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))) {
    while (begun < periods.length && periods[begun]!.begins <= fact.at) begun++
    const named = fact.transaction === null ? undefined : byTransaction.get(fact.transaction)
    const isOfAnother = fact.transaction !== null && isRefundFact(fact.name)
    const period = named ?? (isOfAnother ? undefined : periods[begun - 1])
    if (period) applyFact(period, fact)
    yield
  }
  return periods.map(billed)
}

/** The same at once: for few facts. */
export const postedPeriods = (facts: PostedFact[]): PostedPeriod[] => withoutPauses(postedPeriodsInSteps(facts))

/** The store charged no longer: billing retry, and a grace period with it, ended then. After a full refund there is no billing retry. */
function billed(period: PostedPeriod): PostedPeriod {
  const { givenUpAt: at, graceUntil, refundedAt, autoRenewOffAt } = period
  if (at === null) return period
  if (refundedAt !== null) return { ...period, retryAt: null }
  const ended = { ...period, graceUntil: graceUntil && Math.min(graceUntil, at), autoRenewing: false }
  if (autoRenewOffAt !== null) return { ...ended, givenUpAt: null }
  const [autoRenewChanges, offCauses] = [
    [...period.autoRenewChanges, at],
    [...period.offCauses, 'billing_error' as const],
  ]
  return { ...ended, autoRenewOffAt: at, autoRenewChanges, offCauses }
}

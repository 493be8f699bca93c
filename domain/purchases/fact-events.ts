import { compareAmounts, minus, plus, unscaled } from '../events/money.ts'
import { flatMapStepwise, type Stepwise } from '../kernel/in-steps.ts'
import { type Emission, emittedOnce } from './emit.ts'
import { creditedAmount } from './subscriptions/credits.ts'
import { type PurchaseRow, recordedAt, shownProduct } from './subscriptions/purchase.ts'
import { isTrialPurchase, periodOf } from './subscriptions/recorded.ts'
import { refundedAmount } from './subscriptions/refund-parts.ts'

// The events of what is stated about a purchase: auto-renew off and on, pauses, planned changes of product, billing retry, refund. What is stated is counted, and what the log has is counted:
// the difference is emitted. So the same facts give the same events in whatever order they come in, and nothing is emitted twice.

/** How often the purchases' events of a kind are in the log. */
const timesEmitted = (purchases: PurchaseRow[], key: string): number =>
  purchases.reduce((sum, { emitted }) => sum + emitted.filter(entry => entry === key).length, 0)

/** `isSilent`: the step is not emitted. The log has it only if it was emitted before the step was known to be silent. */
type Step = { purchase: PurchaseRow; at: number; slug: string; isSilent?: boolean } & Pick<
  Emission,
  'oldProduct' | 'newProduct' | 'isVoluntary'
>

/**
 * Each time that auto-renew is switched off and on again, in order; auto-renew is on at the begin of a period. When the store gives up
 * charging, the customer cancels nothing: only the end is emitted.
 */
const switches = (purchase: PurchaseRow): Step[] => {
  const of = isTrialPurchase(purchase) ? 'trial' : 'subscription'
  const { autoRenewChanges, offCauses } = periodOf(purchase)
  return autoRenewChanges.map((at, i) => {
    const cause = offCauses[Math.floor(i / 2)]
    if (i % 2 === 1) return { purchase, at, slug: `${of}_uncanceled`, isSilent: cause === 'billing_error' }
    return { purchase, at, slug: `${of}_canceled`, isSilent: cause === 'billing_error', ...(cause === 'store' && { isVoluntary: false }) }
  })
}

/** A period that begins ends the pause before it. `next`: the period after the one of the pause. */
function pauses(purchase: PurchaseRow, next: PurchaseRow | undefined): Step[] {
  const step = (slug: string) => (second: number) => ({ purchase, at: second * 1000, slug })
  const steps: Step[] = [...purchase.pauses.map(step('subscription_paused')), ...purchase.resumptions.map(step('subscription_resumed'))]
  if (!purchase.is_paused || !next) return steps
  return [...steps, { purchase: next, at: Date.parse(next.purchased_at), slug: 'subscription_resumed' }]
}

/** For a withdrawn change, the new product is the product that was planned. */
const plannedChanges = (purchase: PurchaseRow): Step[] =>
  purchase.planned_changes.map(({ at, product, isWithdrawn }) => ({
    purchase,
    at: at * 1000,
    slug: isWithdrawn ? 'product_change_withdrawn' : 'product_change_planned',
    oldProduct: shownProduct(purchase),
    newProduct: product,
  }))

const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`

/** The event has the time at which the step became known. */
function switched({ purchase, at: ms }: Step, now: number): Pick<Emission, 'at' | 'fact'> {
  const { created_at, verified_at } = purchase
  const at = iso(ms)
  if (at <= created_at) return { at: created_at, ...(verified_at !== null && { fact: { at, recorded: created_at } }) }
  if (verified_at === null) return { at, fact: { at, recorded: iso(now) } }
  const recorded = recordedAt(purchase)
  return { at: recorded, fact: { at, recorded } }
}

/**
 * The steps of one kind, in order, that the log does not have. Each event in the log is matched with a step of its purchase: with a silent
 * step only where the purchase has no other, because a later statement may make an emitted step silent. The remaining events are matched
 * with the earliest steps: a later statement may bring the period to which a step belongs.
 */
function pendingOf(all: Step[], slug: string, purchases: PurchaseRow[]): Step[] {
  const left = new Set(all)
  const takeFirst = (steps: Iterable<Step>, count: number): number => {
    const taken = [...steps].slice(0, count)
    for (const step of taken) left.delete(step)
    return count - taken.length
  }
  const byPurchase = Map.groupBy(all, ({ purchase }) => purchase)
  const rest = purchases.reduce((sum, purchase) => {
    const { true: silent = [], false: other = [] } = Object.groupBy(
      byPurchase.get(purchase) ?? [],
      ({ isSilent }) => `${isSilent ?? false}`,
    )
    return sum + takeFirst(silent, takeFirst(other, timesEmitted([purchase], slug)))
  }, 0)
  takeFirst(left, rest)
  return [...left].filter(({ isSilent }) => !isSilent)
}

/**
 * The events that may happen several times in a lineage. Steps of one kind are counted over all periods of the lineage; cancellations of
 * trials and of paid periods separately, and so are the steps that take them back.
 */
function* steps(purchases: PurchaseRow[], isWaiting: (purchase: PurchaseRow) => boolean, now: number): Stepwise<Emission[]> {
  const periods = purchases.filter(({ is_subscription }) => is_subscription)
  const known = yield* flatMapStepwise(periods.entries(), ([i, purchase]) => [
    ...switches(purchase),
    ...pauses(purchase, periods[i + 1]),
    ...plannedChanges(purchase),
  ])
  const ready = known.filter(({ purchase }) => !isWaiting(purchase))
  return [...Map.groupBy(ready, ({ slug }) => slug)].flatMap(([slug, of]) => {
    const count = timesEmitted(purchases, slug)
    const pending = pendingOf(
      of.sort((a, b) => a.at - b.at),
      slug,
      purchases,
    )
    return pending.map(({ isSilent: _isSilent, ...step }, i) => ({
      ...step,
      ...switched(step, now),
      emittedAs: slug,
      id: `${step.purchase.lineage}:${slug}:${count + i + 1}`,
    }))
  })
}

/** Once per period: a retry that is cleared and set again is the same failing charge. */
function retry(purchase: PurchaseRow): Emission[] {
  const at = purchase.first_retry_at ?? purchase.billing_retry_at
  if (at === null) return []
  const slug = isTrialPurchase(purchase) ? 'trial_billing_retry_entered' : 'subscription_billing_retry_entered'
  const recorded = recordedAt(purchase)
  return [{ ...emittedOnce(purchase, 'retry'), slug, at: recorded, fact: { at, recorded } }]
}

type Money = Pick<Emission, 'slug' | 'at' | 'amount'> & Required<Pick<Emission, 'emittedAs'>> & Partial<Emission>

const counted = (purchase: PurchaseRow, { fact, ...event }: Money, recorded: string): Emission => ({
  ...event,
  purchase,
  id: `${purchase.id}:${event.emittedAs}:${timesEmitted([purchase], event.emittedAs) + 1}`,
  fact: fact ?? { at: event.at, recorded },
})

/** Refunds that were posted before the purchase stated them: the log has them by the posted events. `pending`: the part of what is stated that the log lacks. */
function repeatedRefunds(purchase: PurchaseRow, pending: string): Emission[] {
  let left = pending
  return purchase.repeated_refunds.flatMap(({ event, amount: millionths }) => {
    const [emittedAs, amount] = [`posted:${event}`, unscaled(millionths, 6)]
    if (purchase.emitted.includes(emittedAs) || compareAmounts(amount, left) > 0 || millionths === 0n) return []
    left = minus(left, amount)
    return [
      {
        purchase,
        slug: 'subscription_refunded',
        at: recordedAt(purchase),
        emittedAs,
        id: `${purchase.id}:${emittedAs}`,
        amount,
        isPosted: true,
      },
    ]
  })
}

/**
 * The refunds of a purchase, and the part of them that was taken back, each as far as the log does not state it yet. A refund that was
 * taken back before it was emitted is emitted as both.
 */
function refunds(purchase: PurchaseRow): Emission[] {
  const { refunded_at, is_subscription, refund_told, taken_back, taken_back_told } = purchase
  const recorded = recordedAt(purchase)
  const at = refunded_at ?? recorded
  const slug = is_subscription ? 'subscription_refunded' : 'in_app_refunded'
  let rise = minus(plus(refundedAmount(purchase), taken_back), plus(refund_told, taken_back_told))
  const fall = minus(taken_back, taken_back_told)
  const events: Emission[] = []
  let reported = refund_told
  for (const repeated of repeatedRefunds(purchase, rise)) {
    reported = plus(reported, repeated.amount!)
    rise = minus(rise, repeated.amount!)
    events.push({ ...repeated, refundReported: reported })
  }
  // A free period that is refunded ends, but no money goes back.
  const isFree = isTrialPurchase(purchase) && refunded_at !== null && !purchase.emitted.includes('refunded')
  if (compareAmounts(rise, '0') > 0 || isFree) {
    const amount = isFree ? '0' : rise
    reported = plus(reported, amount)
    events.push(counted(purchase, { slug, at, emittedAs: 'refunded', amount, refundReported: reported }, recorded))
  }
  if (compareAmounts(fall, '0') > 0) {
    const sums = { refundReported: minus(reported, fall), takenBackReported: taken_back }
    events.push(counted(purchase, { slug: 'refund_reversed', at: recorded, emittedAs: 'refund_reversed', amount: fall, ...sums }, recorded))
  }
  return events
}

/** The credits of a purchase, as far as neither the log nor the event of an upgrade states them. A credit is never taken back. */
function credited(purchase: PurchaseRow): Emission[] {
  const credits = purchase.credits.filter(({ isOfUpgrade }) => !isOfUpgrade)
  const reported = creditedAmount(credits)
  const amount = minus(reported, purchase.credit_told)
  if (compareAmounts(amount, '0') <= 0) return []
  const { at } = credits.at(-1)!
  return [
    counted(purchase, { slug: 'subscription_credited', at, emittedAs: 'credited', amount, creditReported: reported }, recordedAt(purchase)),
  ]
}

type PendingScope = { isWaiting: (purchase: PurchaseRow) => boolean; beforeWaiting: ReadonlySet<PurchaseRow>; now: number }

/**
 * The events of stated facts that are not emitted yet, and those of billing retry. Where the begin of a purchase waits, its events wait for
 * the begin; billing retry waits for the begin of the next period. A family-shared purchase has no events: the subscription belongs to
 * another user.
 */
export function* factEventsInSteps(all: PurchaseRow[], { isWaiting, beforeWaiting, now }: PendingScope): Stepwise<Emission[]> {
  const purchases = all.filter(purchase => !purchase.is_family_shared)
  const ready = purchases.filter(purchase => !isWaiting(purchase))
  const ofSteps: Emission[][] = []
  for (const of of Map.groupBy(purchases, ({ lineage }) => lineage).values()) ofSteps.push(yield* steps(of, isWaiting, now))
  const ofRetry = yield* flatMapStepwise(ready, purchase => (beforeWaiting.has(purchase) ? [] : retry(purchase)))
  const ofMoney = yield* flatMapStepwise(ready, refunds)
  const ofCredits = yield* flatMapStepwise(ready, purchase => (purchase.is_subscription ? credited(purchase) : []))
  return [...ofSteps, ofRetry, ofMoney, ofCredits].flat()
}

import { LOYAL_DAYS } from '../events/money.ts'
import type { Stepwise } from '../kernel/in-steps.ts'
import { type Emission, emittedOnce } from './emit.ts'
import { type Link, runsOf } from './subscriptions/access-periods.ts'
import { creditedAmount } from './subscriptions/credits.ts'
import type { KnownPeriod, Subscription } from './subscriptions/lineages.ts'
import { DAY_MS } from './subscriptions/period.ts'
import { type PurchaseRow, recordedAt, shownProduct } from './subscriptions/purchase.ts'
import { timedEventsOf } from './subscriptions/timed-events.ts'
import type { Waiting } from './subscriptions/waiting.ts'

type Run = Link<KnownPeriod<PurchaseRow>>[]
export type Followed = { subscription: Subscription<PurchaseRow>; waiting: Waiting }

const LOYAL_MS = LOYAL_DAYS * DAY_MS
const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`

/** The event with which each period of the run begins. */
function beginningsOf(run: Run): string[] {
  let isPaid = false
  let isTried = false
  return run.map(({ period }) => {
    const slug = period.trial ? 'trial_started' : isPaid ? 'subscription_renewed' : isTried ? 'trial_converted' : 'subscription_started'
    isPaid ||= period.paid
    isTried ||= period.trial
    return slug
  })
}

/** The purchases that begin after 365 paid days of their subscription. */
export function* loyalInSteps(subscriptions: Subscription<PurchaseRow>[]): Stepwise<Set<PurchaseRow>> {
  const loyal = new Set<PurchaseRow>()
  for (const { links } of subscriptions) {
    let paidMs = 0
    for (const { period, ends } of links) {
      if (period.purchase && paidMs >= LOYAL_MS) loyal.add(period.purchase)
      if (period.paid) paidMs += ends - period.begins
      yield
    }
  }
  return loyal
}

function* beginnings({ links }: Subscription<PurchaseRow>, { begins }: Waiting): Stepwise<Emission[]> {
  const emissions: Emission[] = []
  for (const run of runsOf(links)) {
    const slugs = beginningsOf(run)
    for (const [i, { period }] of run.entries()) {
      yield
      const { purchase, trial } = period
      if (!purchase || begins.has(purchase)) continue
      const base = { ...emittedOnce(purchase, 'begin'), slug: slugs[i]!, at: purchase.purchased_at }
      emissions.push(trial ? base : { ...base, amount: purchase.amount })
    }
  }
  return emissions
}

/** The amount that the store credited for a period when another one took its place. */
const givenBack = ({ credits }: PurchaseRow, next: PurchaseRow): string =>
  creditedAmount(credits.filter(({ at, isOfUpgrade }) => isOfUpgrade && Date.parse(at) === Date.parse(next.purchased_at)))

/** Only where the store states it. The value of an upgrade is the amount that was given back for the period before. */
function levelChange(purchase: PurchaseRow, before: PurchaseRow) {
  const { level } = purchase
  if (level === null) return []
  const event = emittedOnce(purchase, 'level')
  if (level.is === 'downgrade') return [{ ...event, slug: 'subscription_downgraded' }]
  return [{ ...event, slug: 'subscription_upgraded', amount: level.refunded ?? givenBack(before, purchase), paid: before }]
}

/** Only within a run: a purchase after the end of a run is a start, whichever product it has. */
function* productChanges({ links }: Subscription<PurchaseRow>, { begins }: Waiting): Stepwise<Emission[]> {
  const emissions: Emission[] = []
  for (const run of runsOf(links)) {
    let before: PurchaseRow | undefined
    for (const { period } of run) {
      yield
      const { purchase } = period
      if (!purchase) continue
      if (before && shownProduct(before) !== shownProduct(purchase) && !begins.has(before) && !begins.has(purchase))
        emissions.push(...productChange(before, purchase))
      before = purchase
    }
  }
  return emissions
}

function productChange(before: PurchaseRow, purchase: PurchaseRow): Emission[] {
  const known = { at: purchase.purchased_at, oldProduct: shownProduct(before) }
  const changed = { ...emittedOnce(purchase, 'changed'), ...known, slug: 'subscription_product_changed' }
  return [changed, ...levelChange(purchase, before).map(level => ({ ...level, ...known }))]
}

const later = (a: string, b: string) => (a > b ? a : b)

/** An event that time causes is recorded when its time comes, or with the purchase if that is later. */
const timedEvents = ({ links }: Subscription<PurchaseRow>, { begins, ends }: Waiting, now: number): Emission[] =>
  timedEventsOf(links).flatMap(({ slug, period: { purchase }, due, at, isByCharge }): Emission[] => {
    if (!purchase || due > now) return []
    if (slug === 'trial_still_active') {
      const fact = { at: iso(due), recorded: later(purchase.created_at, iso(due)) }
      return begins.has(purchase) ? [] : [{ ...emittedOnce(purchase, 'still_active'), slug, at: iso(now), fact }]
    }
    const fact = { at: iso(at!), recorded: later(recordedAt(purchase), iso(at!)) }
    if (ends.has(purchase)) return []
    return [{ ...emittedOnce(purchase, 'expired'), slug, at: fact.at, fact, ...(isByCharge && { reason: 'billing_error' }) }]
  })

/**
 * The begins, changes of product and timed events of all purchases that are due by `now` (ms) and do not wait, also those that were emitted
 * before.
 */
export function* lifecycleInSteps(purchases: PurchaseRow[], subscriptions: Followed[], now: number): Stepwise<Emission[]> {
  const emissions: Emission[] = purchases
    .filter(purchase => !purchase.is_subscription && !purchase.is_family_shared)
    .map(purchase => ({ ...emittedOnce(purchase, 'begin'), slug: 'in_app_purchase', at: purchase.purchased_at, amount: purchase.amount }))
  for (const { subscription, waiting } of subscriptions) {
    for (const emission of yield* beginnings(subscription, waiting)) emissions.push(emission)
    for (const emission of yield* productChanges(subscription, waiting)) emissions.push(emission)
    emissions.push(...timedEvents(subscription, waiting, now))
  }
  return emissions
}

import { LOYAL_DAYS } from '../events/money.ts'
import { type Link, runsOf } from '../subscriptions/access-periods.ts'
import { creditedAmount } from '../subscriptions/credits.ts'
import type { KnownPeriod, Subscription } from '../subscriptions/lineages.ts'
import { DAY_MS } from '../subscriptions/period.ts'
import { type PurchaseRow, recordedAt, shownProduct } from '../subscriptions/purchase.ts'
import { timedEventsOf } from '../subscriptions/timed-events.ts'
import type { Waiting } from '../subscriptions/waiting.ts'
import { type Emission, toldOnce } from './emit.ts'

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

/** The paid time of the subscription before each of its purchases, in ms. */
function paidBefore(links: Run): Map<PurchaseRow, number> {
  const sums = new Map<PurchaseRow, number>()
  let sum = 0
  for (const { period, ends } of links) {
    if (period.purchase) sums.set(period.purchase, sum)
    if (period.paid) sum += ends - period.begins
  }
  return sums
}

/** The purchases that begin after 365 paid days of their subscription. */
export const loyalOf = (subscriptions: Subscription<PurchaseRow>[]): Set<PurchaseRow> =>
  new Set(subscriptions.flatMap(({ links }) => [...paidBefore(links)].flatMap(([purchase, paid]) => (paid >= LOYAL_MS ? [purchase] : []))))

const beginnings = ({ links }: Subscription<PurchaseRow>, { begins }: Waiting): Emission[] =>
  runsOf(links).flatMap(run => {
    const slugs = beginningsOf(run)
    return run.flatMap(({ period: { purchase, trial } }, i): Emission[] => {
      if (!purchase || begins.has(purchase)) return []
      const base = { ...toldOnce(purchase, 'begin'), slug: slugs[i]!, at: purchase.purchased_at }
      return [trial ? base : { ...base, amount: purchase.amount }]
    })
  })

/** What the store credited of a period when another one took its place. */
const givenBack = ({ credits }: PurchaseRow, next: PurchaseRow): string =>
  creditedAmount(credits.filter(({ at, isOfUpgrade }) => isOfUpgrade && Date.parse(at) === Date.parse(next.purchased_at)))

/** Only on the store's word. The value of an upgrade is what was given back of the period before. */
function levelChange(purchase: PurchaseRow, before: PurchaseRow) {
  const { level } = purchase
  if (level === null) return []
  const event = toldOnce(purchase, 'level')
  if (level.is === 'downgrade') return [{ ...event, slug: 'subscription_downgraded' }]
  return [{ ...event, slug: 'subscription_upgraded', amount: level.refunded ?? givenBack(before, purchase), paid: before }]
}

/** Only within a run: a purchase after its end is a start, whichever product it has. */
const productChanges = ({ links }: Subscription<PurchaseRow>, { begins }: Waiting): Emission[] =>
  runsOf(links).flatMap(run => {
    const purchases = run.flatMap(({ period: { purchase } }) => purchase ?? [])
    return purchases.flatMap((purchase, i): Emission[] => {
      const before = purchases[i - 1]
      if (before === undefined || shownProduct(before) === shownProduct(purchase)) return []
      if (begins.has(before) || begins.has(purchase)) return []
      const known = { at: purchase.purchased_at, oldProduct: shownProduct(before) }
      const changed = { ...toldOnce(purchase, 'changed'), ...known, slug: 'subscription_product_changed' }
      return [changed, ...levelChange(purchase, before).map(level => ({ ...level, ...known }))]
    })
  })

const later = (a: string, b: string) => (a > b ? a : b)

/** What time causes is recorded when its time comes, or with the purchase if that is later. */
const timedEvents = ({ links }: Subscription<PurchaseRow>, { begins, ends }: Waiting, now: number): Emission[] =>
  timedEventsOf(links).flatMap(({ slug, period: { purchase }, due, at, isByCharge }): Emission[] => {
    if (!purchase || due > now) return []
    if (slug === 'trial_still_active') {
      const fact = { at: iso(due), recorded: later(purchase.created_at, iso(due)) }
      return begins.has(purchase) ? [] : [{ ...toldOnce(purchase, 'still_active'), slug, at: iso(now), fact }]
    }
    const fact = { at: iso(at!), recorded: later(recordedAt(purchase), iso(at!)) }
    if (ends.has(purchase)) return []
    return [{ ...toldOnce(purchase, 'expired'), slug, at: fact.at, fact, ...(isByCharge && { reason: 'billing_error' }) }]
  })

/**
 * The begins, changes of product and timed events of all purchases that are due by `now` (ms) and do not wait, also those that were told
 * before.
 */
export function lifecycleEvents(purchases: PurchaseRow[], subscriptions: Followed[], now: number): Emission[] {
  const oneTime: Emission[] = purchases
    .filter(purchase => !purchase.is_subscription && !purchase.is_family_shared)
    .map(purchase => ({ ...toldOnce(purchase, 'begin'), slug: 'in_app_purchase', at: purchase.purchased_at, amount: purchase.amount }))
  const recurring = subscriptions.flatMap(({ subscription, waiting }) => [
    ...beginnings(subscription, waiting),
    ...productChanges(subscription, waiting),
    ...timedEvents(subscription, waiting, now),
  ])
  return [...oneTime, ...recurring]
}

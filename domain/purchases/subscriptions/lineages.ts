import { type Stepwise, withoutPauses } from '../../kernel/in-steps.ts'
import { type Link, linkOf } from './access-periods.ts'
import type { FoldedPurchase } from './folded-purchase.ts'
import type { Period } from './period.ts'
import type { PostedFact } from './posted.ts'
import { byItem } from './posted-items.ts'
import { type PostedPeriod, postedPeriodsInSteps } from './posted-periods.ts'
import { recordedAt, TARGET_PLATFORM } from './purchase.ts'
import { periodOf, type RecordedPeriod } from './recorded.ts'
import { subscriptionTimeline, type Timeline } from './timeline.ts'

/** One subscription of one user, from purchases and posted events. */
export type Subscription<P extends FoldedPurchase = FoldedPurchase> = {
  user: string
  platform: string
  lineage: string
  timeline: Timeline
  autoRenewing: boolean
  isPaused: boolean
  /** The store's product that is to come with the next period. */
  plannedProduct: string | null
  everPaid: boolean
  /** When a fact of the lineage was recorded last. */
  recordedAt: number
  links: Link<KnownPeriod<P>>[]
}

/** A period of a purchase or of a posted event. Both are part of the run, but only a purchase emits events. */
export type KnownPeriod<P extends FoldedPurchase = FoldedPurchase> = RecordedPeriod<P> | PostedPeriod

type Sources<P> = { user: string; platform: string; lineage: string; purchases: P[]; posted: PostedFact[] }

function groupByLineage<P extends FoldedPurchase>(purchases: P[], posted: PostedFact[]): Sources<P>[] {
  const groups = new Map<string, Sources<P>>()
  // Mostly all of one lineage come one after the other.
  let last: Sources<P> | null = null
  const groupOf = (user: string, platform: string, lineage: string): Sources<P> => {
    if (last?.lineage === lineage && last.platform === platform && last.user === user) return last
    const key = JSON.stringify([user, platform, lineage])
    const group = groups.get(key) ?? { user, platform, lineage, purchases: [], posted: [] }
    groups.set(key, group)
    last = group
    return group
  }
  for (const purchase of purchases) {
    // A family-shared purchase gives access, but the subscription belongs to another user.
    if (!purchase.is_subscription || purchase.is_family_shared) continue
    groupOf(purchase.user_id!, TARGET_PLATFORM[purchase.platform], purchase.lineage_name).purchases.push(purchase)
  }
  for (const fact of byItem(posted)) groupOf(fact.user_id, fact.platform ?? '', fact.lineage).posted.push(fact)
  return [...groups.values()]
}

const never = Number.MAX_VALUE
const inOrder = (a: Period, b: Period) => a.begins - b.begins || (a.expires ?? never) - (b.expires ?? never)

function* subscriptionOf<P extends FoldedPurchase>({ purchases, posted, ...name }: Sources<P>): Stepwise<Subscription<P> | null> {
  const periods: KnownPeriod<P>[] = []
  for (const purchase of purchases) {
    periods.push(periodOf(purchase))
    yield
  }
  for (const period of yield* postedPeriodsInSteps(posted)) periods.push(period)
  periods.sort(inOrder)
  const last = periods.at(-1)
  if (!last) return null
  const links: Link<KnownPeriod<P>>[] = []
  const timeline: Timeline = []
  for (const i of periods.keys()) {
    links.push(linkOf(periods, i, links.at(-1)))
    if (i > 0) timeline.push(...subscriptionTimeline(links, i - 1, i))
    yield
  }
  timeline.push(...subscriptionTimeline(links, links.length - 1))
  const times = [...purchases.map(purchase => Date.parse(recordedAt(purchase))), ...posted.map(fact => fact.recorded)]
  return {
    ...name,
    timeline,
    autoRenewing: last.autoRenewing,
    isPaused: last.fact === null ? last.purchase.is_paused : last.isPaused,
    plannedProduct: last.fact === null ? last.purchase.planned_product : last.plannedProduct,
    everPaid: periods.some(({ paid }) => paid),
    recordedAt: times.reduce((latest, at) => Math.max(latest, at)),
    links,
  }
}

/** The users' subscriptions, from their purchases and posted events together. */
export function* subscriptionsInSteps<P extends FoldedPurchase>(purchases: P[], posted: PostedFact[]): Stepwise<Subscription<P>[]> {
  const subscriptions: Subscription<P>[] = []
  for (const sources of groupByLineage(purchases, posted)) {
    const subscription = yield* subscriptionOf(sources)
    if (subscription) subscriptions.push(subscription)
  }
  return subscriptions
}

/** The same at once: for few facts. */
export const subscriptionsOf = <P extends FoldedPurchase>(purchases: P[], posted: PostedFact[]): Subscription<P>[] =>
  withoutPauses(subscriptionsInSteps(purchases, posted))

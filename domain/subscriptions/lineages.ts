import { chain, type Link } from './access-periods.ts'
import type { FoldedPurchase } from './folded-purchase.ts'
import type { Period } from './period.ts'
import type { PostedFact } from './posted.ts'
import { byItem } from './posted-items.ts'
import { type PostedPeriod, postedPeriods } from './posted-periods.ts'
import { recordedAt, TARGET_PLATFORM } from './purchase.ts'
import { periodOf } from './recorded.ts'
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
export type KnownPeriod<P extends FoldedPurchase = FoldedPurchase> =
  | (Period & { purchase: P; fact: null })
  | (PostedPeriod & { purchase: null })

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

/** The users' subscriptions, from their purchases and posted events together. */
export const subscriptionsOf = <P extends FoldedPurchase>(purchases: P[], posted: PostedFact[]): Subscription<P>[] =>
  groupByLineage(purchases, posted).flatMap(({ purchases, posted, ...name }) => {
    const fromEvents = postedPeriods(posted).map((period): KnownPeriod<P> => ({ ...period, purchase: null }))
    const fromPurchases = purchases.map((purchase): KnownPeriod<P> => ({ ...periodOf(purchase), fact: null }))
    const all = [...fromPurchases, ...fromEvents].sort(inOrder)
    const last = all.at(-1)
    if (!last) return []
    const links = chain(all)
    const recorded = [...purchases.map(purchase => Date.parse(recordedAt(purchase))), ...posted.map(fact => fact.recorded)]
    return [
      {
        ...name,
        timeline: subscriptionTimeline(links),
        autoRenewing: last.autoRenewing,
        isPaused: last.fact === null ? last.purchase.is_paused : last.isPaused,
        plannedProduct: last.fact === null ? last.purchase.planned_product : last.plannedProduct,
        everPaid: all.some(({ paid }) => paid),
        recordedAt: recorded.reduce((latest, at) => Math.max(latest, at)),
        links,
      },
    ]
  })

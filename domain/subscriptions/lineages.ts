import { chain, type Link } from './chain.ts'
import type { Period } from './period.ts'
import { type Posted, postedPeriods } from './posted.ts'
import { type PurchaseRow, TARGET_PLATFORM } from './purchase.ts'
import { periodOf } from './recorded.ts'
import { type Timeline, timelineOf } from './timeline.ts'

/** One subscription of one user, from all that is known of it. */
export type Subscription = {
  user: string
  platform: string
  lineage: string
  timeline: Timeline
  autoRenewing: boolean
  everPaid: boolean
  links: Link<KnownPeriod>[]
}

/** A period that a purchase tells, or a posted event: only what is recorded emits events, but both make the run. */
export type KnownPeriod = Period & { purchase: PurchaseRow | null }

type Parts = { user: string; platform: string; lineage: string; purchases: PurchaseRow[]; posted: Posted[] }

function gather(purchases: PurchaseRow[], posted: Posted[]): Parts[] {
  const parts = new Map<string, Parts>()
  const of = (user: string, platform: string, lineage: string) => {
    const key = JSON.stringify([user, platform, lineage])
    const found = parts.get(key) ?? { user, platform, lineage, purchases: [], posted: [] }
    parts.set(key, found)
    return found
  }
  for (const purchase of purchases) {
    // Access through somebody else's purchase is no subscription of one's own.
    if (!purchase.is_subscription || purchase.is_family_shared) continue
    of(purchase.user_id!, TARGET_PLATFORM[purchase.platform], purchase.lineage_name).purchases.push(purchase)
  }
  for (const fact of posted) of(fact.user_id, fact.platform ?? '', fact.lineage).posted.push(fact)
  return [...parts.values()]
}

const never = Number.MAX_VALUE
const inOrder = (a: Period, b: Period) => a.begins - b.begins || (a.expires ?? never) - (b.expires ?? never)

/** The users' subscriptions as purchases and posted events together tell them. */
export const subscriptionsOf = (purchases: PurchaseRow[], posted: Posted[]): Subscription[] =>
  gather(purchases, posted).flatMap(({ purchases, posted, ...name }) => {
    const told = postedPeriods(posted).map(period => ({ ...period, purchase: null }))
    const all: KnownPeriod[] = [...purchases.map(periodOf), ...told].sort(inOrder)
    const last = all.at(-1)
    if (!last) return []
    const links = chain(all)
    return [
      {
        ...name,
        timeline: timelineOf(links),
        autoRenewing: last.autoRenewing,
        everPaid: all.some(({ paid }) => paid),
        links,
      },
    ]
  })

import type { Store } from '../subscriptions/purchase.ts'

/** The subscription behind a contribution, as far as an answer shows it. */
export type SubscriptionSeen = {
  renewState: 'billing_issue' | 'non_renewable' | 'will_renew' | 'canceled'
  periodType: 'normal' | 'trial' | 'intro' | null
}

/**
 * One reason why a user holds an entitlement, active in [from, until) (ms; Infinity: never ends). `startedAt`: for subscriptions the
 * beginning of the first period of the run.
 */
export type Contribution = { from: number; until: number; startedAt: number } & (
  | { kind: 'grant' }
  | { kind: 'purchase'; store: Store; product: string; subscription: SubscriptionSeen | null }
)

/** What a user's hold on a definition comes to: the contribution that is shown, whether it is active. */
export type Hold = { isActive: boolean; shown: Contribution; throughPurchase: boolean }

const isActive = ({ from, until }: Contribution, now: number) => from <= now && now < until

/** Ends last first; of equals a purchase before a grant, then the later beginning, then any order that does not depend on arrival. */
function byEnd(a: Contribution, b: Contribution): number {
  if (a.until !== b.until) return a.until < b.until ? 1 : -1
  if (a.kind !== b.kind) return a.kind === 'purchase' ? -1 : 1
  if (a.from !== b.from) return b.from - a.from
  const [left, right] = [JSON.stringify(a), JSON.stringify(b)]
  return left < right ? -1 : left > right ? 1 : 0
}

/**
 * A pure function of the contributions and now; their order has no influence. Shown is the active one that ends last, or, when none
 * is active, the one that ended last. null: there is no contribution.
 */
export function foldHold(contributions: Contribution[], now: number): Hold | null {
  const active = contributions.filter(contribution => isActive(contribution, now))
  const shown = [...(active.length > 0 ? active : contributions)].sort(byEnd)[0]
  if (!shown) return null
  return { isActive: active.length > 0, shown, throughPurchase: active.some(({ kind }) => kind === 'purchase') }
}

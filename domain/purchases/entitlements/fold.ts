import type { Store } from '../subscriptions/purchase.ts'

/** The fields of a purchase's subscription that the API shows. */
export type ShownSubscription = {
  renewState: 'billing_issue' | 'non_renewable' | 'will_renew' | 'canceled'
  periodType: 'normal' | 'trial' | 'intro' | null
}

/**
 * One grant or purchase that gives a user an entitlement. It is active in [from, until) (ms; Infinity: it never ends). `startedAt`: of a
 * subscription, the begin of the first period of the run.
 */
export type AccessSource = { from: number; until: number; startedAt: number } & (
  | { kind: 'grant' }
  | { kind: 'purchase'; store: Store; product: string; subscription: ShownSubscription | null }
)

/** A user's entitlement: whether it is active, the source that the API shows, whether an active source is a purchase. */
export type UserEntitlement = { isActive: boolean; shown: AccessSource; throughPurchase: boolean }

const isActive = ({ from, until }: AccessSource, now: number) => from <= now && now < until

/** The latest end first; then a purchase before a grant; then the later begin; then any order that does not depend on arrival. */
function byEnd(a: AccessSource, b: AccessSource): number {
  if (a.until !== b.until) return a.until < b.until ? 1 : -1
  if (a.kind !== b.kind) return a.kind === 'purchase' ? -1 : 1
  if (a.from !== b.from) return b.from - a.from
  const [left, right] = [JSON.stringify(a), JSON.stringify(b)]
  return left < right ? -1 : left > right ? 1 : 0
}

/**
 * A pure function of the sources and now. The order of the sources has no influence. It shows the active source that ends last, or, when
 * none is active, the source that ended last. Null: there is no source.
 */
export function foldUserEntitlement(sources: AccessSource[], now: number): UserEntitlement | null {
  const active = sources.filter(source => isActive(source, now))
  const shown = [...(active.length > 0 ? active : sources)].sort(byEnd)[0]
  if (!shown) return null
  return { isActive: active.length > 0, shown, throughPurchase: active.some(({ kind }) => kind === 'purchase') }
}

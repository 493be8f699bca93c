import { flatMapStepwise, type Stepwise } from '../kernel/in-steps.ts'
import type { Emission } from './emit.ts'
import { factEventsInSteps } from './fact-events.ts'
import { lifecycleInSteps, loyalInSteps } from './lifecycle.ts'
import { type NoticeRow, storeEvents } from './store-events.ts'
import type { FoldedPurchase } from './subscriptions/folded-purchase.ts'
import type { Subscription } from './subscriptions/lineages.ts'
import type { PurchaseRow } from './subscriptions/purchase.ts'
import { waitingOf } from './subscriptions/waiting.ts'

/** The events of the purchases that are due by `now` (ms), that do not wait and that the log does not have. */
export function* pendingInSteps(
  purchases: PurchaseRow[],
  subscriptions: Subscription<PurchaseRow>[],
  notices: NoticeRow[],
  now: number,
): Stepwise<Emission[]> {
  const followed = yield* flatMapStepwise(subscriptions, subscription => [{ subscription, waiting: waitingOf(subscription, now) }])
  const waiting = new Set(followed.flatMap(({ waiting }) => [...waiting.begins]))
  const all = [
    yield* lifecycleInSteps(purchases, followed, now),
    yield* factEventsInSteps(purchases, {
      isWaiting: purchase => waiting.has(purchase),
      beforeWaiting: beforeOf(subscriptions, waiting),
      now,
    }),
    storeEvents(purchases, notices),
  ]
  const isPending = ({ purchase, emittedAs, id }: Emission) => id !== `${purchase.id}:${emittedAs}` || !purchase.emitted.includes(emittedAs)
  const pending = yield* flatMapStepwise(all.flat(), emission => (isPending(emission) ? [emission] : []))
  if (pending.length === 0) return pending
  const loyal = yield* loyalInSteps(subscriptions)
  return pending.map(emission => ({ ...emission, loyal: loyal.has(emission.purchase) }))
}

/**
 * The purchases before those that wait. The period between the two may be missing: then the proof of billing retry, which the waiting
 * purchase has, is about the missing period.
 */
function beforeOf(subscriptions: Subscription<PurchaseRow>[], waiting: ReadonlySet<FoldedPurchase>): Set<PurchaseRow> {
  if (waiting.size === 0) return new Set()
  return new Set(
    subscriptions.flatMap(({ links }) =>
      links.flatMap(({ period }, i) => {
        const next = links[i + 1]?.period.purchase
        return period.purchase && next && waiting.has(next) ? [period.purchase] : []
      }),
    ),
  )
}

import type { Subscription } from '../subscriptions/lineages.ts'
import type { PurchaseRow } from '../subscriptions/purchase.ts'
import { waitingOf } from '../subscriptions/waiting.ts'
import type { Emission } from './emit.ts'
import { factEvents } from './fact-events.ts'
import { lifecycleEvents, loyalOf } from './lifecycle.ts'
import { type NoticeRow, storeEvents } from './store-events.ts'

/** The events of the purchases that are due by `now` (ms), that do not wait and that the log does not have. */
export function untoldEvents(
  purchases: PurchaseRow[],
  subscriptions: Subscription<PurchaseRow>[],
  notices: NoticeRow[],
  now: number,
): Emission[] {
  const loyal = loyalOf(subscriptions)
  const followed = subscriptions.map(subscription => ({ subscription, waiting: waitingOf(subscription, now) }))
  const waiting = new Set(followed.flatMap(({ waiting }) => [...waiting.begins]))
  // A period that comes before the next one may be missing: then the next one's proof of billing retry is about that one.
  const beforeWaiting = new Set(
    subscriptions.flatMap(({ links }) =>
      links.flatMap(({ period }, i) => {
        const next = links[i + 1]?.period.purchase
        return period.purchase && next && waiting.has(next) ? [period.purchase] : []
      }),
    ),
  )
  const onceOnly = lifecycleEvents(purchases, followed, now)
  return [...onceOnly, ...factEvents(purchases, purchase => waiting.has(purchase), beforeWaiting, now), ...storeEvents(purchases, notices)]
    .filter(({ purchase, told, id }) => id !== `${purchase.id}:${told}` || !purchase.emitted.includes(told))
    .map(emission => ({ ...emission, loyal: loyal.has(emission.purchase) }))
}

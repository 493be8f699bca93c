import type { Subscription } from '../subscriptions/lineages.ts'
import type { PurchaseRow } from '../subscriptions/purchase.ts'
import { waitingOf } from '../subscriptions/waiting.ts'
import type { Emission } from './emit.ts'
import { factEvents } from './fact-events.ts'
import { lifecycleEvents, loyalOf } from './lifecycle.ts'
import { type NoticeRow, storeEvents } from './store-events.ts'

/** The events of the purchases that are due by `now` (ms), that do not wait and that the log does not have. */
export function untoldEvents(purchases: PurchaseRow[], subscriptions: Subscription[], notices: NoticeRow[], now: number): Emission[] {
  const loyal = loyalOf(subscriptions)
  const followed = subscriptions.map(subscription => ({ subscription, waiting: waitingOf(subscription, now) }))
  const isWaiting = (purchase: PurchaseRow) => followed.some(({ waiting }) => waiting.begins.has(purchase))
  const onceOnly = lifecycleEvents(purchases, followed, now)
  return [...onceOnly, ...factEvents(purchases, isWaiting), ...storeEvents(purchases, notices)]
    .filter(({ purchase, told, id }) => id !== `${purchase.id}:${told}` || !purchase.emitted.includes(told))
    .map(emission => ({ ...emission, loyal: loyal.has(emission.purchase) }))
}

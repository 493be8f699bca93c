import type { Tx } from '../../store/connect.ts'
import { recount } from '../customers/recount.ts'
import type { Environment } from '../environment.ts'
import { mark } from '../marks/mark.ts'
import { subscriptionsOf } from '../subscriptions/lineages.ts'
import { postedFacts } from '../subscriptions/posted.ts'
import type { PurchaseRow } from '../subscriptions/purchase.ts'
import { recordedPurchases } from '../subscriptions/recorded.ts'
import { storeSubscriptions } from '../subscriptions/store.ts'
import { waitingOf } from '../subscriptions/waiting.ts'
import { storeDerived } from './derive.ts'
import { emit } from './emit.ts'
import { factEvents } from './fact-events.ts'
import { lifecycleEvents, loyalOf } from './lifecycle.ts'

/**
 * Computes and writes everything that follows from the users' facts: the access of each purchase, subscriptions, status, sums, the next
 * change that time causes; and appends the due events to the log, except those that wait until their lineage is quiet. The caller has locked the users' rows. The append is the transaction's
 * last statement.
 */
export async function refold(tx: Tx, environment: Environment, users: string[]): Promise<void> {
  const { rows } = await tx.query<{ now: number }>('select (extract(epoch from environment_now($1)) * 1000)::float8 as now', [environment])
  const now = Math.floor(rows[0]!.now)
  const purchases = await recordedPurchases(tx, environment, users)
  const subscriptions = subscriptionsOf(purchases, await postedFacts(tx, environment, users))
  const loyal = loyalOf(subscriptions)
  const followed = subscriptions.map(subscription => ({ subscription, waiting: waitingOf(subscription, now) }))
  const isWaiting = (purchase: PurchaseRow) => followed.some(({ waiting }) => waiting.begins.has(purchase))
  const emissions = [...lifecycleEvents(purchases, followed, now), ...factEvents(purchases, isWaiting)]
    .filter(({ purchase, once }) => once === undefined || !purchase.emitted.includes(once))
    .map(emission => ({ ...emission, loyal: loyal.has(emission.purchase) }))
  // The next due time of a subscription must not count what is told here.
  for (const { purchase, once } of emissions) if (once) purchase.emitted.push(once)
  await storeDerived(tx, purchases, emissions)
  const statuses = await storeSubscriptions(tx, environment, users, subscriptions, now)
  await recount(tx, environment, users, statuses)
  await mark(tx, environment, users)
  await emit(tx, environment, emissions)
}

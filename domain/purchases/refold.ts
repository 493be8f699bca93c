import type { Tx } from '../../store/connect.ts'
import { recount } from '../customers/recount.ts'
import type { Environment } from '../environment.ts'
import { subscriptionsOf } from '../subscriptions/lineages.ts'
import { postedFacts } from '../subscriptions/posted.ts'
import type { PurchaseRow } from '../subscriptions/purchase.ts'
import { recordedPurchases } from '../subscriptions/recorded.ts'
import { storeSubscriptions } from '../subscriptions/store.ts'
import { derive } from './derive.ts'
import { type Emission, emit } from './emit.ts'
import { earned, loyalOf } from './lifecycle.ts'

/** What a change of facts has to say besides what follows from them: the events of the change itself. */
export type Changes = (purchases: PurchaseRow[]) => Emission[]

/**
 * Everything that follows from the users' facts, anew: each purchase's part in access, subscriptions, status, sums, when time changes
 * something next; and the events that were earned, into the log. The users' rows are locked by the caller; the appended events are
 * the transaction's last statement.
 */
export async function refold(tx: Tx, environment: Environment, users: string[], changes: Changes = () => []): Promise<void> {
  const { rows } = await tx.query<{ now: number }>('select (extract(epoch from environment_now($1)) * 1000)::float8 as now', [environment])
  const now = Math.floor(rows[0]!.now)
  const purchases = await recordedPurchases(tx, environment, users)
  const subscriptions = subscriptionsOf(purchases, await postedFacts(tx, environment, users))
  const loyal = loyalOf(subscriptions)
  const emissions = [...earned(purchases, subscriptions, now), ...changes(purchases)].map(e => ({ ...e, loyal: loyal.has(e.purchase) }))
  await derive(tx, purchases, emissions)
  const statuses = await storeSubscriptions(tx, environment, users, subscriptions, now)
  await recount(tx, environment, users, statuses)
  await emit(tx, environment, emissions)
}

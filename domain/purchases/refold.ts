import type { Tx } from '../../store/connect.ts'
import { mark } from '../durable/marks/mark.ts'
import type { Environment } from '../kernel/environment.ts'
import { stepwise } from '../kernel/in-steps.ts'
import { writeBeginnings } from '../users/beginning.ts'
import { beginningsOf } from './beginnings.ts'
import { storeDerived } from './derive.ts'
import { emit } from './emit.ts'
import { pendingInSteps } from './pending-events.ts'
import { noticesOf } from './store-events.ts'
import { subscriptionsInSteps } from './subscriptions/lineages.ts'
import { postedFacts } from './subscriptions/posted.ts'
import { settleOwners } from './subscriptions/posted-owners.ts'
import { recordedPurchases } from './subscriptions/recorded.ts'
import { recount } from './subscriptions/recount.ts'
import { storeSubscriptions } from './subscriptions/store.ts'

/**
 * Computes and writes everything that follows from the users' facts: the access of each purchase, subscriptions, status, sums, the next
 * change that time causes. Appends the due events to the log, except those that wait. The caller has locked the users' rows. The append is
 * the transaction's last statement. `claimed`: a purchase that a caller claims and that may trigger effects; unless it is history, it shows
 * its user live.
 */
export async function refold(tx: Tx, environment: Environment, users: string[], claimed?: { id: string; user: string }): Promise<void> {
  await settleOwners(tx, environment, users)
  const { rows } = await tx.query<{ now: number; offset: number }>(
    `select floor(extract(epoch from environment_now($1)) * 1000)::float8 as now, (extract(epoch from clock_offset) * 1000)::float8 as offset
     from environments where id = $1`,
    [environment],
  )
  const { now, offset } = rows[0]!
  const purchases = await recordedPurchases(tx, environment, users)
  const subscriptions = await stepwise(subscriptionsInSteps(purchases, await postedFacts(tx, environment, users)))
  const emissions = await stepwise(pendingInSteps(purchases, subscriptions, await noticesOf(tx, purchases), now))
  // The next due time of a subscription must not count what is emitted here.
  for (const { purchase, emittedAs } of emissions) purchase.emitted.push(emittedAs)
  await storeDerived(tx, purchases, emissions)
  const statuses = await storeSubscriptions(tx, environment, users, subscriptions, now)
  await recount(tx, environment, users, statuses, purchases)
  await writeBeginnings(tx, environment, beginningsOf(purchases, offset, claimed))
  await mark(tx, environment, users)
  await emit(tx, environment, emissions, offset)
}

import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { inSteps } from '../../kernel/in-steps.ts'
import { storeAccess } from '../../purchases/subscriptions/derived.ts'
import type { Subscription } from '../../purchases/subscriptions/lineages.ts'
import { isRefundFact } from '../../purchases/subscriptions/posted-price.ts'
import { storePostedSums } from '../../purchases/subscriptions/posted-sums.ts'
import { recount } from '../../purchases/subscriptions/recount.ts'
import { storeSubscriptions } from '../../purchases/subscriptions/store.ts'
import { subscriptionsOfHistory, type UserHistory } from '../facts/user-history.ts'

/** Whose sums follow from the posted sales alone, which are read already. */
const hasSalesOnly = ({ purchases, transactions }: UserHistory): boolean =>
  purchases.length === 0 && !transactions.some(({ name }) => isRefundFact(name))

type Failed = { no: number; error: string }

/**
 * Stores what follows from all facts of the users: subscriptions with the next change of each, status, sums, access after posted refunds. Users whose subscriptions cannot be
 * computed keep what they have and are returned. The users' rows are locked.
 */
export async function storeCustomers(tx: Tx, environment: Environment, histories: UserHistory[]): Promise<Failed[]> {
  if (histories.length === 0) return []
  const { rows } = await tx.query<{ now: number }>('select (extract(epoch from environment_now($1)) * 1000)::float8 as now', [environment])
  const users: string[] = []
  const subscriptions: Subscription[] = []
  const failed: Failed[] = []
  const step = inSteps()
  for (const history of histories) {
    const { user } = history
    try {
      subscriptions.push(...(await subscriptionsOfHistory(history)))
      users.push(user.id)
    } catch (error) {
      failed.push({ no: user.no, error: error instanceof Error ? error.message : String(error) })
    }
    await step(1 + history.purchases.length + history.posted.length)
  }
  const statuses = await storeSubscriptions(tx, environment, users, subscriptions, rows[0]!.now)
  const known = new Set(users)
  const stored = histories.filter(history => known.has(history.user.id))
  const purchases = stored.flatMap(history => history.purchases)
  await storeAccess(tx, purchases)
  const bySales = Map.groupBy(stored, hasSalesOnly)
  const sales = (bySales.get(true) ?? []).map(({ user, transactions }) => ({ user: user.id, sales: transactions }))
  await storePostedSums(tx, environment, sales, statuses)
  const others = (bySales.get(false) ?? []).map(({ user }) => user.id)
  await recount(tx, environment, others, statuses, purchases)
  return failed
}

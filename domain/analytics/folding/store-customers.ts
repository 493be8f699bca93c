import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { inSteps } from '../../kernel/in-steps.ts'
import { storeAccess } from '../../purchases/subscriptions/derived.ts'
import type { Subscription } from '../../purchases/subscriptions/lineages.ts'
import { recount } from '../../purchases/subscriptions/recount.ts'
import { storeSubscriptions } from '../../purchases/subscriptions/store.ts'
import { subscriptionsOfHistory, type UserHistory } from '../facts/user-history.ts'

type Failed = { no: number; error: string }

/**
 * Stores what follows from all facts of the users: subscriptions with the next change of each, status, sums, access after posted refunds. Users whose subscriptions cannot be
 * computed keep what they have and are returned. The users' rows are locked.
 */
export async function storeCustomers(tx: Tx, environment: Environment, lives: UserHistory[]): Promise<Failed[]> {
  if (lives.length === 0) return []
  const { rows } = await tx.query<{ now: number }>('select (extract(epoch from environment_now($1)) * 1000)::float8 as now', [environment])
  const users: string[] = []
  const subscriptions: Subscription[] = []
  const failed: Failed[] = []
  const step = inSteps()
  for (const life of lives) {
    const { user } = life
    try {
      subscriptions.push(...(await subscriptionsOfHistory(life)))
      users.push(user.id)
    } catch (error) {
      failed.push({ no: user.no, error: error instanceof Error ? error.message : String(error) })
    }
    await step(1 + life.purchases.length + life.posted.length)
  }
  const statuses = await storeSubscriptions(tx, environment, users, subscriptions, rows[0]!.now)
  const stored = new Set(users)
  const purchases = lives.flatMap(life => (stored.has(life.user.id) ? life.purchases : []))
  await storeAccess(tx, purchases)
  await recount(tx, environment, users, statuses, purchases)
  return failed
}

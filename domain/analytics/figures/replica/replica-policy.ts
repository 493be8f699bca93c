import { performance } from 'node:perf_hooks'
import type { Db } from '../../../../store/connect.ts'
import type { Environment } from '../../../kernel/environment.ts'

const LOOK_MS = 60_000

// Counts rows only up to the number from which a replica is worth its cost.
const some = (table: string) =>
  `(select count(*) from (select from ${table} t where t.environment = s.environment and t.generation = s.generation limit $2) t)`
const HAS_FACTS = `select ${['transaction_facts', 'subscription_changes', 'user_facts'].map(some).join(' + ')} >= $2::int as is_worth
  from fact_state s where s.environment = $1`

/** Returns a function that tests whether an environment has so many facts that a scan of rows in Postgres is slow. The result may be a minute old. */
export function isWorthAReplica(db: Db, facts: number): (environment: Environment) => Promise<boolean> {
  const known = new Map<Environment, { isWorth: Promise<boolean>; at: number }>()
  const look = async (environment: Environment) => {
    const { rows } = await db.query<{ is_worth: boolean }>(HAS_FACTS, [environment, facts])
    return rows[0]?.is_worth ?? false
  }
  return async environment => {
    if (facts === 0) return true
    const last = known.get(environment)
    if (last && (performance.now() - last.at < LOOK_MS || (await last.isWorth))) return last.isWorth
    const isWorth = look(environment)
    known.set(environment, { isWorth, at: performance.now() })
    isWorth.catch(() => known.delete(environment))
    return isWorth
  }
}

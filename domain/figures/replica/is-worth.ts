import { performance } from 'node:perf_hooks'
import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../environment.ts'

const LOOK_MS = 60_000

// Transactions and changes are about equally many.
const HAS_FACTS = `select exists (select from transaction_facts t join fact_state s on s.environment = t.environment and s.generation = t.generation
    where t.environment = $1 offset $2) as is_worth`

/** Tells which environments have so many facts that reading them by rows is slow. It may tell a minute later than it is so. */
export function isWorthAReplica(db: Db, facts: number): (environment: Environment) => Promise<boolean> {
  const known = new Map<Environment, { isWorth: Promise<boolean>; at: number }>()
  const look = async (environment: Environment) => {
    const { rows } = await db.query<{ is_worth: boolean }>(HAS_FACTS, [environment, Math.max(0, Math.floor(facts / 2) - 1)])
    return rows[0]!.is_worth
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

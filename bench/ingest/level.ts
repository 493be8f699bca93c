import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from '../../store/connect.ts'

const LOOK_MS = 10
const LIMIT_MS = 600_000

const LEVEL = `select not exists (select 1 from stale_users where environment = $1)
  and not exists (select 1 from log_consumers c join log_positions l using (environment, partition)
    where c.environment = $1 and c.next_offset < l.next_offset) as done`
const IDLE = 'select not exists (select 1 from due where environment = $1 and due_at <= clock_timestamp()) as done'

/** Waits until both consumers have read the log to its end and no user is marked; gives the time then, in ms since 1970. */
export const levelAt = (pool: Pool, environment: number): Promise<number> => until(pool, environment, LEVEL)

/** Waits until no run and no delivery is due: they must not work beside the next measurement. */
export const idleAt = (pool: Pool, environment: number): Promise<number> => until(pool, environment, IDLE)

async function until(pool: Pool, environment: number, statement: string): Promise<number> {
  for (const limit = Date.now() + LIMIT_MS; Date.now() < limit; await delay(LOOK_MS)) {
    const { rows } = await pool.query<{ done: boolean }>({ text: statement, values: [environment] })
    if (rows[0]!.done) return Date.now()
  }
  throw new Error('the worker has not caught up within ten minutes')
}

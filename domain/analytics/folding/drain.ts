import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import type { Pool, Tx } from '../../../store/connect.ts'
import { isLockTimeout } from '../../../store/failures.ts'
import { transaction } from '../../../store/transaction.ts'
import { announceMarks } from '../../durable/marks/mark.ts'
import type { Environment } from '../../kernel/environment.ts'
import { foldMarked, USERS_AT_ONCE } from './fold-batch.ts'

async function hasMarks(pool: Pool, environment: Environment): Promise<boolean> {
  const { rowCount } = await pool.query({
    name: 'has-marks',
    text: 'select 1 from stale_users where environment = $1 limit 1',
    values: [environment],
  })
  return rowCount === 1
}

/** A wait for a lock in this transaction fails at the deadline. No limit is 0 in Postgres. */
async function limitWaits(tx: Tx, deadline: number): Promise<void> {
  const leftMs = Math.max(1, Math.ceil(deadline - performance.now()))
  await tx.query({ name: 'limit-waits', text: `select set_config('lock_timeout', $1, true)`, values: [`${leftMs}ms`] })
}

/**
 * Folds up to `limit` marked users: first the users that no transaction has locked, then those that another transaction folds at this
 * moment. True: no mark is left that was there before. `deadline`: by performance.now(); after it no transaction begins, and none waits for
 * a lock.
 */
export async function drainMarks(
  pool: Pool,
  environment: Environment,
  limit: number,
  deadline = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  if (!(await hasMarks(pool, environment))) return true
  const isLimited = Number.isFinite(deadline)
  let [left, waits] = [limit, false]
  do {
    const most = Math.min(left, USERS_AT_ONCE)
    const { folded, skipped, isFull } = await transaction(pool, async tx => {
      if (isLimited) await limitWaits(tx, deadline)
      return foldMarked(tx, environment, most, waits)
    })
    if (skipped === 0 && !isFull) return true
    waits = skipped > 0
    left -= folded
  } while (left > 0 && performance.now() < deadline)
  return false
}

/** By database and environment: the drain that a question of this process waits for. Its promise never rejects. */
const underWay = new WeakMap<Pool, Map<Environment, Promise<unknown>>>()

/** Limits the drains of all environments together: a drain holds connections for longer than the turn of its request lasts. */
const mostAtOnce = (pool: Pool): number => Math.max(2, Math.floor(pool.options.max / 4))

/**
 * Questions drain an environment one after the other: a later question finds the work of the earlier one done. A drain continues after its
 * question has been answered, so its work is not lost. Of all environments together, a quarter of the pool's connections drain at once, and
 * two of a small pool.
 */
async function drainInTurn(pool: Pool, environment: Environment, limit: number, deadline: number): Promise<boolean> {
  const drains = underWay.get(pool) ?? new Map<Environment, Promise<unknown>>()
  underWay.set(pool, drains)
  for (;;) {
    const isFull = drains.size >= mostAtOnce(pool)
    const other = drains.get(environment) ?? (isFull ? Promise.race(drains.values()) : undefined)
    if (!other) break
    await other
  }
  if (performance.now() >= deadline) return false
  const own = drainMarks(pool, environment, limit, deadline)
  drains.set(
    environment,
    own.catch(() => {}).finally(() => drains.delete(environment)),
  )
  return own
}

/** A backlog is not counted to its end: while there is one, the database is busy. */
const MOST_COUNTED = 10_000
const COUNT = `select count(*)::int as users from (select from stale_users where environment = $1 limit ${MOST_COUNTED}) s`

async function countMarked(pool: Pool, environment: Environment): Promise<number> {
  const { rows } = await pool.query<{ users: number }>({ name: 'count-marked', text: COUNT, values: [environment] })
  return rows[0]!.users
}

/**
 * Folds up to `limit` marked users, but for no longer than `withinMs`: the workers are notified and fold the rest. Returns the number of
 * users that are still marked, counted up to 10,000.
 */
export async function drainWithin(pool: Pool, environment: Environment, limit: number, withinMs: number): Promise<number> {
  if (!(await hasMarks(pool, environment))) return 0
  const draining = drainInTurn(pool, environment, limit, performance.now() + withinMs).catch(error => {
    if (isLockTimeout(error)) return false
    throw error
  })
  const timer = new AbortController()
  const isDone = await Promise.race([draining, pause(withinMs, false, { signal: timer.signal })]).finally(() => timer.abort())
  if (isDone) return 0
  announceMarks(pool, environment)
  return countMarked(pool, environment)
}

/** Marked users that a read of many users folds first. */
const READ_FIRST = 2_000

/** Folds up to 2,000 marked users before many are read; gives the number of users that are still marked when there were more, up to 10,000. */
export async function foldForList(pool: Pool, environment: Environment): Promise<number> {
  return (await drainMarks(pool, environment, READ_FIRST)) ? 0 : countMarked(pool, environment)
}

/** Folds every user who is marked now. `beat` is called between the transactions. */
export async function foldPresent(pool: Pool, environment: Environment, beat: () => Promise<unknown> = async () => {}): Promise<void> {
  const { rows } = await pool.query<{ users: number }>({
    name: 'count-marks',
    text: 'select count(*)::int as users from stale_users where environment = $1',
    values: [environment],
  })
  for (let left = rows[0]!.users; left > 0; left -= USERS_AT_ONCE) {
    if (await drainMarks(pool, environment, Math.min(left, USERS_AT_ONCE))) return
    await beat()
  }
}

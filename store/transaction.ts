import { beforeCommitOf, isPipelined, type Pool, sessionsOf, type Tx } from './connect.ts'
import { isRetryable } from './failures.ts'
import { collectNotices, forgetNotices, sendNotices } from './notify.ts'

const TRIES = 5

/** A kind of work and its subject. Of two transactions with the same turn, the later one begins when the earlier one has ended. */
export type Turn = [kind: number, about: string]

/**
 * Runs `work` in one transaction, READ COMMITTED by default. After a deadlock or a serialisation failure the whole of `work` runs again, up
 * to five times in all, so `work` must have no effect outside of the database.
 * `again` accepts further errors that a repeat resolves (a concurrent writer took a unique key).
 */
export async function transaction<T>(
  pool: Pool,
  work: (tx: Tx) => Promise<T>,
  again: (error: unknown) => boolean = () => false,
  isolation: 'read committed' | 'repeatable read' = 'read committed',
  turn?: Turn,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const tx = await (turn ? sessionsOf(pool) : pool).connect()
    let broken: Error | undefined
    try {
      // Before the transaction: inside it, the statement that waits for the lock would take the snapshot, which would be older than what the
      // lock waited for.
      if (turn) await tx.query('select pg_advisory_lock($1, hashtext($2))', turn)
      // Awaited on every connection: statements sent behind a `begin` that fails would run without a transaction.
      await tx.query(isolation === 'read committed' ? 'begin' : `begin isolation level ${isolation}`)
      collectNotices(tx)
      const result = await work(tx)
      beforeCommitOf(pool)?.()
      await tx.query('commit')
      sendNotices(pool, tx)
      return result
    } catch (error) {
      await tx.query('rollback').catch(rollbackError => {
        broken = rollbackError as Error
      })
      if (attempt < TRIES && (isRetryable(error) || again(error))) continue
      throw error
    } finally {
      forgetNotices(tx)
      if (turn && !broken)
        await tx.query('select pg_advisory_unlock_all()').catch(unlockError => {
          broken = unlockError as Error
        })
      tx.release(broken)
    }
  }
}

/** The end of a transaction that is undone on purpose. */
const UNDO = new Error('undone')

/**
 * Runs `work` as `transaction` does and undoes all of it: nothing is stored, and no notice is sent. What the commit would check is checked
 * before.
 */
export async function rehearsal<T>(pool: Pool, work: (tx: Tx) => Promise<T>, again?: (error: unknown) => boolean): Promise<T> {
  let done: { result: T } | undefined
  const undone = async (tx: Tx) => {
    done = { result: await work(tx) }
    await tx.query('set constraints all immediate')
    throw UNDO
  }
  await transaction(pool, undone, again).catch(error => {
    if (error !== UNDO) throw error
  })
  return done!.result
}

/** Runs `work` so that a failure undoes only the changes of `work`; the surrounding transaction continues. */
export async function savepoint<T>(tx: Tx, work: () => Promise<T>): Promise<T> {
  await tx.query('savepoint attempt')
  try {
    const result = await work()
    await tx.query('release savepoint attempt')
    return result
  } catch (error) {
    await tx.query('rollback to savepoint attempt')
    throw error
  }
}

/**
 * Runs two tasks that do not need each other's answers, in this order: a pipelined connection sends the second right after the first.
 * Throws the error of the task that failed first, after both have ended: no statement of the tasks is under way when the rollback follows.
 */
export async function atOnce<A, B>(tx: Tx, first: () => Promise<A>, second: () => Promise<B>): Promise<[A, B]> {
  if (!isPipelined(tx)) return [await first(), await second()]
  const both = [first(), second()] as const
  try {
    return await Promise.all(both)
  } catch (error) {
    await Promise.allSettled(both)
    throw error
  }
}

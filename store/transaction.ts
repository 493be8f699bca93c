import { isPipelined, type Pool, type Tx } from './connect.ts'
import { isRetryable } from './failures.ts'

const TRIES = 5

/** A kind of work and what it is about: of two transactions with the same turn the later one begins when the earlier one has ended. */
export type Turn = [kind: number, about: string]

/**
 * Runs `work` in one transaction, READ COMMITTED unless told. Deadlocks and serialisation failures are the database's way of saying "again":
 * the whole of `work` is run anew, up to five times, so it must not act on the outside.
 * `again` names further errors that a repeat resolves (a unique key taken by a concurrent writer).
 */
export async function transaction<T>(
  pool: Pool,
  work: (tx: Tx) => Promise<T>,
  again: (error: unknown) => boolean = () => false,
  isolation: 'read committed' | 'repeatable read' = 'read committed',
  turn?: Turn,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const tx = await pool.connect()
    let broken: Error | undefined
    try {
      // Within the transaction the statement that waits would be the snapshot, older than what it waited for.
      if (turn) await tx.query('select pg_advisory_lock($1, hashtext($2))', turn)
      // Waited for on every connection: what is sent behind a beginning that fails would be done without a transaction around it.
      await tx.query(isolation === 'read committed' ? 'begin' : `begin isolation level ${isolation}`)
      const result = await work(tx)
      await tx.query('commit')
      return result
    } catch (error) {
      await tx.query('rollback').catch(rollbackError => {
        broken = rollbackError as Error
      })
      if (attempt < TRIES && (isRetryable(error) || again(error))) continue
      throw error
    } finally {
      if (turn && !broken)
        await tx.query('select pg_advisory_unlock_all()').catch(unlockError => {
          broken = unlockError as Error
        })
      tx.release(broken)
    }
  }
}

/** Runs `work` so that its failure undoes only what it did itself; the transaction around it lives on. */
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
 * Two that do not ask for each other's answers, in this order: where the connection can, the second is sent right behind the first. Both
 * have ended before the error of the one that failed first is thrown: whoever undoes the transaction meets nothing of them any more.
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

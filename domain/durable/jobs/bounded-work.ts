import type { Pool, Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import type { Environment } from '../../kernel/environment.ts'
import { announceJobs, deleteJob } from './job.ts'
import { insertJobs } from './sql.ts'

// Work on any number of rows (deliveries that a pause of weeks held, pending deliveries that fail, half a million runs to cancel) is done
// in steps of one bounded transaction each. The first step belongs to the transaction that requests the work; a job does the others.

/** Continues the work of the kind on the object with this number in further steps; one job does it, however often it is requested. */
export async function continueLater(tx: Tx, environment: Environment, kind: string, id: number): Promise<void> {
  await tx.query(insertJobs({ kind, id: '$2', environment: '$1', dueAt: 'environment_now($1)', ifExists: 'keep' }), [environment, id])
  announceJobs(tx, kind)
}

/** One step, in one transaction with everything that depends on it. `step` returns whether work is left for the next step. */
export const continueWork = (pool: Pool, kind: string, id: number, step: (tx: Tx) => Promise<boolean>): Promise<unknown> =>
  transaction(pool, async tx => {
    if (await step(tx)) await tx.query('update due set lease_until = null where kind = $1 and id = $2', [kind, id])
    else await deleteJob(tx, kind, id)
  })

import type { Pool, Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import type { Environment } from '../../kernel/environment.ts'
import { announceJobs, deleteJob } from './job.ts'
import { insertJobs } from './sql.ts'

// Work on any number of rows (releasing what a pause of weeks held, failing what is pending, cancelling half a million runs) is done in
// steps of one bounded transaction each. The first step belongs to the transaction that asks for the work; a job does the others.

/** The work of the kind on the thing with this number goes on in further steps; once, however often it is asked for. */
export async function continueLater(tx: Tx, environment: Environment, kind: string, id: number): Promise<void> {
  await tx.query(insertJobs({ kind, id: '$2', environment: '$1', dueAt: 'environment_now($1)', ifExists: 'keep' }), [environment, id])
  announceJobs(tx, kind)
}

/** One step, in one transaction with what follows from it: `step` tells whether anything is left for the next one. */
export const continueWork = (pool: Pool, kind: string, id: number, step: (tx: Tx) => Promise<boolean>): Promise<unknown> =>
  transaction(pool, async tx => {
    if (await step(tx)) await tx.query('update due set lease_until = null where kind = $1 and id = $2', [kind, id])
    else await deleteJob(tx, kind, id)
  })

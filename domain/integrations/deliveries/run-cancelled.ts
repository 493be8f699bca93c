import type { Pool, Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { type ClaimedJob, tryLockFence } from '../../durable/jobs/job.ts'
import { deleteJobs, idIn, lockJobs } from '../../durable/jobs/sql.ts'
import { RUN_CANCELLED } from '../../durable/ledger-history/history.ts'
import { DELIVERY_DUE, OPEN_DELIVERY } from './delivery.ts'
import type { OpenDelivery } from './load.ts'
import { failDelivery } from './record-failure.ts'
import { lockWaitingRuns } from './waiting-runs.ts'

// The runs and their deliveries are found one by one: without statistics a join may read a whole index.
const OPEN = `
  select v.number from unnest($1::bigint[]) k(number)
    cross join lateral (select environment, id from automation_runs where number = k.number limit 1) r
    cross join lateral (select number, status from deliveries
      where environment = r.environment and run_id = r.id and source = 'automation' offset 0) v
  where v.status in ${OPEN_DELIVERY}`

/**
 * Ends the open deliveries of runs that this transaction has cancelled; the runs' jobs are locked. A worker that sends one of them at this
 * moment can record nothing afterwards. No run is woken, and none of these deliveries has an ordering key.
 */
export async function failDeliveriesOfRuns(tx: Tx, runs: readonly number[]): Promise<void> {
  const { rows } = await tx.query<{ number: number }>({ name: 'open-deliveries-of-runs', text: OPEN, values: [runs] })
  const numbers = rows.map(({ number }) => number)
  if (numbers.length === 0) return
  await tx.query(lockJobs(DELIVERY_DUE, '$1::bigint[]', 'update'), [numbers])
  await tx.query(
    `update deliveries set status = 'failed', reason = '${RUN_CANCELLED}', next_attempt_at = null,
       ended_at = date_trunc('second', environment_now(environment))
     where number = any ($1::bigint[]) and status in ${OPEN_DELIVERY}`,
    [numbers],
  )
  await tx.query(deleteJobs(DELIVERY_DUE, idIn('$1::bigint[]')), [numbers])
}

/** Ends a claimed delivery whose run is cancelled with its automation, before the cancellation has reached the run. False: another worker has it. */
export const failCancelledDelivery = (pool: Pool, claimed: ClaimedJob, delivery: OpenDelivery): Promise<boolean> =>
  transaction(pool, async tx => {
    const waiting = await lockWaitingRuns(tx, [delivery])
    if ((await tryLockFence(tx, claimed)) === null) return false
    await failDelivery(tx, delivery, RUN_CANCELLED, delivery.attempts, 0, waiting)
    return true
  })

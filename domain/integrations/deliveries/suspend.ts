import type { Pool } from '../../../store/connect.ts'
import { lockInOrder } from '../../../store/lock-in-order.ts'
import { transaction } from '../../../store/transaction.ts'
import { announceJobs, type ClaimedJob, lockFence, lockFences, tryLockFence } from '../../durable/jobs/job.ts'
import { suspendJobs } from '../../durable/jobs/sql.ts'
import { DELIVERY_DUE, expiry } from './delivery.ts'
import type { OpenDelivery } from './load.ts'
import { lockOrderingKeys, orderingKeysOf } from './ordering-key.ts'
import { failDelivery } from './record-failure.ts'
import { lockWaitingRuns } from './waiting-runs.ts'

/**
 * Suspends deliveries that fell due while their integration is not active, until they expire. A delivery whose integration was activated
 * meanwhile is due at once.
 */
export const suspendDeliveries = (pool: Pool, claimed: readonly ClaimedJob[]): Promise<true[]> =>
  transaction(pool, async tx => {
    await tx.query({
      name: 'lock-integrations-of-deliveries',
      text: lockInOrder({ table: 'integrations', key: 'number', keys: '$1::int[]', strength: 'key share' }),
      values: [[...new Set(claimed.map(({ destination }) => destination))]],
    })
    const locked = [...(await lockFences(tx, DELIVERY_DUE, claimed))]
    await tx.query({
      name: 'clear-next-attempts',
      text: 'update deliveries set next_attempt_at = null where number = any ($1::bigint[]) and next_attempt_at is not null',
      values: [locked],
    })
    await tx.query({
      name: 'suspend-deliveries',
      text: suspendJobs({
        kind: DELIVERY_DUE,
        dueAt: `case when i.active = 1 then environment_now(v.environment) else ${expiry('v.created_at')} end`,
        from: 'deliveries v join integrations i on i.number = v.integration',
        where: 'd.id = any ($1::bigint[]) and v.number = any ($1::bigint[]) and v.number = d.id',
      }),
      values: [locked],
    })
    announceJobs(tx, DELIVERY_DUE)
    return claimed.map(() => true)
  })

/** The job of a delivery that this worker cannot send is due again after so long: for a worker that can. */
const LEFT_SECONDS = 60

/** Leaves a claimed delivery to another worker: nothing was attempted. False: another worker has it already. */
export const leaveDelivery = (pool: Pool, claimed: ClaimedJob): Promise<boolean> =>
  transaction(pool, async tx => {
    if ((await tryLockFence(tx, claimed)) === null) return false
    const dueAt = `environment_now($2) + make_interval(secs => ${LEFT_SECONDS})`
    await tx.query(suspendJobs({ kind: DELIVERY_DUE, dueAt, where: 'd.id = $1' }), [claimed.id, claimed.environment])
    return true
  })

/** Ends a delivery that was held for too long as failed. False: the delivery was released meanwhile, and nothing was changed. */
export const expireDelivery = (pool: Pool, claimed: ClaimedJob, delivery: OpenDelivery): Promise<boolean> =>
  transaction(pool, async tx => {
    await tx.query('select 1 from integrations where number = $1 for key share', [delivery.integration])
    // Checked again under the lock: a delivery that was released and held again has its 30 days again.
    const expired = await tx.query(
      `select 1 from deliveries v join integrations i on i.number = v.integration
       where v.number = $1 and i.active <> 1 and environment_now(v.environment) >= ${expiry('v.created_at')}`,
      [delivery.number],
    )
    if (expired.rowCount === 0) return false
    await lockOrderingKeys(tx, orderingKeysOf([delivery]))
    const waiting = await lockWaitingRuns(tx, [delivery])
    await lockFence(tx, claimed)
    await failDelivery(tx, delivery, 'expired', delivery.attempts, 0, waiting)
    return true
  })

import type { Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { announceJobs, type ClaimedJob, lockFence, lockFences } from '../jobs/job.ts'
import { suspendJobs } from '../jobs/sql.ts'
import { DELIVERY_DUE, expiry } from './delivery.ts'
import type { OpenDelivery } from './load.ts'
import { lockOrderingKeys } from './ordering-key.ts'
import { fail } from './record-failure.ts'
import { laneOf } from './record-success.ts'

/**
 * Puts aside what came due while its integration is not active, until it expires; what has been released meanwhile is due at once.
 */
export const parkDeliveries = (pool: Pool, claimed: readonly ClaimedJob[]): Promise<true[]> =>
  transaction(pool, async tx => {
    await tx.query({
      name: 'hold-integrations-of-deliveries',
      text: `select 1 from integrations where number = any ($1::int[]) order by number for share`,
      values: [[...new Set(claimed.map(({ destination }) => destination))]],
    })
    const held = [...(await lockFences(tx, DELIVERY_DUE, claimed))]
    await tx.query({
      name: 'forget-next-attempts',
      text: 'update deliveries set next_attempt_at = null where number = any ($1::bigint[]) and next_attempt_at is not null',
      values: [held],
    })
    await tx.query({
      name: 'park-deliveries',
      text: suspendJobs({
        kind: DELIVERY_DUE,
        dueAt: `case when i.active = 1 then environment_now(v.environment) else ${expiry('v.created_at')} end`,
        from: 'deliveries v join integrations i on i.number = v.integration',
        where: 'd.id = any ($1::bigint[]) and v.number = any ($1::bigint[]) and v.number = d.id',
      }),
      values: [held],
    })
    await announceJobs(tx, DELIVERY_DUE)
    return claimed.map(() => true)
  })

/** Held for too long. False when it was released meanwhile: nothing has happened then. */
export const expire = (pool: Pool, claimed: ClaimedJob, delivery: OpenDelivery): Promise<boolean> =>
  transaction(pool, async tx => {
    await tx.query('select 1 from integrations where number = $1 for share', [delivery.integration])
    // Asked again under the lock: released and held anew since it was found, its time begins anew.
    const held = await tx.query(
      `select 1 from deliveries v join integrations i on i.number = v.integration
       where v.number = $1 and i.active <> 1 and environment_now(v.environment) >= ${expiry('v.created_at')}`,
      [delivery.number],
    )
    if (held.rowCount === 0) return false
    await lockOrderingKeys(tx, laneOf(delivery))
    await lockFence(tx, claimed)
    await fail(tx, delivery, 'expired', delivery.attempts, 0)
    return true
  })

import type { Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import type { Claimed } from '../runs/claimed.ts'
import { holdFence } from '../runs/record.ts'
import { DELIVERY_DUE, expiry } from './delivery.ts'
import { lockLanes } from './lane.ts'
import type { OpenDelivery } from './load.ts'
import { fail } from './record-failure.ts'
import { laneOf } from './record-success.ts'

/** Held for too long. False when it was released meanwhile: nothing has happened then. */
export const expire = (pool: Pool, claimed: Claimed, delivery: OpenDelivery): Promise<boolean> =>
  transaction(pool, async tx => {
    await tx.query('select 1 from integrations where number = $1 for share', [delivery.integration])
    // Asked again under the lock: released and held anew since it was found, its time begins anew.
    const held = await tx.query(
      `select 1 from deliveries v join integrations i on i.number = v.integration
       where v.number = $1 and i.active <> 1 and environment_now(v.environment) >= ${expiry('v.created_at')}`,
      [delivery.number],
    )
    if (held.rowCount === 0) return false
    await lockLanes(tx, laneOf(delivery))
    await holdFence(tx, claimed)
    await fail(tx, delivery, 'expired', delivery.attempts, 0)
    return true
  })

/** A promise whose delivery has ended, or is gone with its event. */
export async function dropPromise(pool: Pool, { id, fence }: Claimed): Promise<void> {
  await pool.query(`delete from due where kind = '${DELIVERY_DUE}' and id = $1 and fence = $2`, [id, fence])
}

import type { Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import type { Claimed } from '../runs/claimed.ts'
import { holdFence } from '../runs/record.ts'
import { DELIVERY_DUE } from './delivery.ts'
import { lockLanes } from './lane.ts'
import type { OpenDelivery } from './load.ts'
import { fail } from './record-failure.ts'
import { laneOf } from './record-success.ts'

/** Held for too long. False when it was released meanwhile: nothing has happened then. */
export const expire = (pool: Pool, claimed: Claimed, delivery: OpenDelivery): Promise<boolean> =>
  transaction(pool, async tx => {
    const held = await tx.query('select 1 from integrations where number = $1 and active <> 1 for share', [delivery.integration])
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

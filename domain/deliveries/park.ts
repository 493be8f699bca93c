import type { Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import type { Claimed } from '../runs/claimed.ts'
import { DUE_CHANNEL } from '../runs/create.ts'
import { DELIVERY_DUE, expiry } from './delivery.ts'
import { holdFences } from './fence.ts'

/**
 * Puts aside what came due while its integration is not active, until it expires; what has been released meanwhile is due at once.
 */
export const parkDeliveries = (pool: Pool, claimed: readonly Claimed[]): Promise<true[]> =>
  transaction(pool, async tx => {
    await tx.query({
      name: 'hold-integrations-of-deliveries',
      text: `select 1 from integrations where number = any ($1::int[]) order by number for share`,
      values: [[...new Set(claimed.map(({ destination }) => destination))]],
    })
    const held = [...(await holdFences(tx, claimed))]
    await tx.query({
      name: 'forget-next-attempts',
      text: 'update deliveries set next_attempt_at = null where number = any ($1::bigint[]) and next_attempt_at is not null',
      values: [held],
    })
    await tx.query({
      name: 'park-deliveries',
      text: `update due d set lease_until = null, ring_until = null,
               due_at = case when i.active = 1 then environment_now(v.environment) else ${expiry('v.created_at')} end
             from deliveries v join integrations i on i.number = v.integration
             where d.kind = '${DELIVERY_DUE}' and d.id = any ($1::bigint[]) and v.number = any ($1::bigint[]) and v.number = d.id`,
      values: [held],
    })
    await tx.query(`select pg_notify('${DUE_CHANNEL}', '${DELIVERY_DUE}')`)
    return claimed.map(() => true)
  })

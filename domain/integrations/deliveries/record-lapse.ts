import type { Pool } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import type { ClaimedJob } from '../../durable/jobs/job.ts'
import { takeLapse, UNRECORDED } from '../../durable/jobs/lapse.ts'
import { type DeliveryAttempt, OPEN_DELIVERY, withAttempt } from './delivery.ts'

/**
 * Records the attempt of a worker that ended before it recorded one. Before the delivery is sent again, so that each sending is counted
 * however many workers end. Nothing happens if another worker has the job, or the delivery is gone.
 */
export const recordLapse = (pool: Pool, claimed: ClaimedJob): Promise<void> =>
  transaction(pool, async tx => {
    const startedAt = await takeLapse(tx, claimed)
    if (startedAt === null) return
    const { rows } = await tx.query<{ attempts: DeliveryAttempt[]; attempt_count: number }>(
      `select attempts, attempt_count from deliveries where number = $1 and status in ${OPEN_DELIVERY} for no key update`,
      [claimed.id],
    )
    if (!rows[0]) return
    const attempt = { started_at: startedAt, duration_ms: null, http_status: null, error: UNRECORDED, response: null }
    await tx.query('update deliveries set attempts = $2, attempt_count = attempt_count + 1 where number = $1', [
      claimed.id,
      JSON.stringify(withAttempt(rows[0], attempt)),
    ])
  })

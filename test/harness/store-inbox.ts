import type { NewNotification } from '../../domain/purchases/store-inbox/notification.ts'
import type { QueueName } from '../../domain/purchases/store-inbox/queues.ts'
import { queuesNamed } from '../../domain/purchases/store-inbox/queues.ts'
import type { Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'

let made = 0

/** A push of Apple's, with an id of its own. */
export const notification = (project: number, given: Partial<NewNotification> = {}): NewNotification => ({
  id: `uuid-${++made}`,
  type: 'DID_RENEW',
  subtype: null,
  environment: 'production',
  queue: 'orig-1',
  statedAt: 1_700_000_000_000,
  project,
  platform: 'apple',
  body: new TextEncoder().encode('{"signedPayload":"…"}'),
  contentType: 'application/json',
  source: 'push',
  ...given,
})

/** The number of a queue, which exists from then on. */
export const queueNamed = async (pool: Pool, queue: QueueName): Promise<number> =>
  (await transaction(pool, tx => queuesNamed(tx, [queue])))[0]!

export type InboxRow = {
  id: number
  lane: number
  notification_id: string
  environment: number | null
  state: string
  attempts: number
  reason: string | null
  body: Buffer
  content_type: string | null
  source: string
}

export const inboxOf = async (pool: Pool, project: number): Promise<InboxRow[]> =>
  (await pool.query<InboxRow>('select * from store_inbox where project = $1 order by id', [project])).rows

/** Jobs of queues; `in` seconds until they are due, rounded. */
export const queueJobs = async (pool: Pool, queue: number) =>
  (
    await pool.query<{ environment: number; fence: number; in: number; leased: boolean }>(
      `select environment, fence, round(extract(epoch from due_at - clock_timestamp()))::int as in, lease_until > clock_timestamp() as leased
       from due where kind = 'store_lane' and id = $1`,
      [queue],
    )
  ).rows

import type { Tx } from '../../../store/connect.ts'
import { lockJobs } from '../../durable/jobs/sql.ts'
import { AUTOMATION_RUN_DUE, wakeRuns } from '../../durable/jobs/wake-runs.ts'
import type { LogEvent } from '../../durable/log/consumer.ts'
import type { Environment } from '../../kernel/environment.ts'

/**
 * Ends the waits for the events that the consumer reads: each wait takes the first of its events, and its run is woken. The caller has locked
 * the consumer's position in the partitions of the events, so that no wait begins or ends meanwhile. All jobs are locked before the waits,
 * as a cancellation locks them.
 */
export async function wakeWaits(tx: Tx, environment: Environment, events: readonly LogEvent[]): Promise<void> {
  const triggering = events.filter(event => event.triggers && event.user_id !== null)
  if (triggering.length === 0) return
  const { rows } = await tx.query<{ run: number }>({
    name: 'wake-waits',
    text: `with found as (
             select distinct on (w.run) w.run, e.name, e.id, e.log_offset
             from unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::timestamptz[]) e(id, log_offset, user_id, name, received_at)
             cross join lateral (
               select run from event_waits where environment = $1 and user_id = e.user_id and event_name = e.name and event_id is null
                 and after_offset < e.log_offset and deadline > e.received_at and (since is null or since <= e.received_at)
               offset 0) w
             order by w.run, e.log_offset
           ), locked as materialized (
             ${lockJobs(AUTOMATION_RUN_DUE, 'array(select run from found)')}
           )
           update event_waits w set event_id = t.id, event_offset = t.log_offset from found t
           where w.run = t.run and w.event_name = t.name and w.event_id is null and w.run = any (array(select id from locked))
           returning w.run`,
    values: [
      environment,
      triggering.map(e => e.id),
      triggering.map(e => e.log_offset),
      triggering.map(e => e.user_id),
      triggering.map(e => e.name),
      triggering.map(e => e.received_at),
    ],
  })
  await wakeRuns(
    tx,
    environment,
    rows.map(({ run }) => run),
  )
}

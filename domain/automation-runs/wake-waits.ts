import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { lockJobs } from '../jobs/sql.ts'
import { AUTOMATION_RUN_DUE, wakeRuns } from '../jobs/wake-runs.ts'
import type { LogEvent } from '../log/consumer.ts'

/**
 * Tells the waits of what the consumer reads: each takes the first of its events and its run is woken. The caller holds the consumer's
 * place in the events' partitions, so that no wait begins or ends meanwhile. The promises are locked before the waits, all of them, as by
 * whoever cancels the runs.
 */
export async function wakeWaits(tx: Tx, environment: Environment, events: readonly LogEvent[]): Promise<void> {
  const telling = events.filter(event => event.triggers && event.user_id !== null)
  if (telling.length === 0) return
  const { rows } = await tx.query<{ run: number }>({
    name: 'wake-waits',
    text: `with told as (
             select distinct on (w.run) w.run, e.id, e.log_offset
             from unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::timestamptz[]) e(id, log_offset, user_id, name, received_at)
             cross join lateral (
               select run from event_waits where environment = $1 and user_id = e.user_id and event_name = e.name and event_id is null
                 and after_offset < e.log_offset and deadline > e.received_at and (since is null or since <= e.received_at)
               offset 0) w
             order by w.run, e.log_offset
           ), locked as materialized (
             ${lockJobs(AUTOMATION_RUN_DUE, 'any (array(select run from told))')}
           )
           update event_waits w set event_id = t.id, event_offset = t.log_offset from told t
           where w.run = t.run and w.event_id is null and w.run = any (array(select id from locked))
           returning w.run`,
    values: [
      environment,
      telling.map(e => e.id),
      telling.map(e => e.log_offset),
      telling.map(e => e.user_id),
      telling.map(e => e.name),
      telling.map(e => e.received_at),
    ],
  })
  await wakeRuns(
    tx,
    environment,
    rows.map(({ run }) => run),
  )
}

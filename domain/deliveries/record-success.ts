import type { Pool, Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { type ClaimedJob, lockFences } from '../jobs/job.ts'
import { deleteJobs } from '../jobs/sql.ts'
import { type Attempt, DELIVERY_DUE, KEPT_ATTEMPTS } from './delivery.ts'
import type { OpenDelivery } from './load.ts'
import { lockOrderingKeys, type OrderingKey, scheduleNext } from './ordering-key.ts'
import { endProbes } from './probe.ts'
import { release } from './release.ts'
import { wakeWaiting } from './waiting-runs.ts'

export type Delivered = { claimed: ClaimedJob; delivery: OpenDelivery; attempt: Omit<Attempt, 'number'> }

export const laneOf = ({ environment, integration, lane }: OpenDelivery): OrderingKey[] =>
  lane === null ? [] : [{ environment, integration, user: lane }]

/** The attempts with this one at the end, numbered. */
export const withAttempt = ({ attempts, attempt_count }: OpenDelivery, attempt: Omit<Attempt, 'number'>): Attempt[] =>
  [...attempts, { number: attempt_count + 1, ...attempt }].slice(-KEPT_ATTEMPTS)

// The counters change at most once a second, or when there is a failure to forget: a row that every success wrote would be the
// narrowest place of all. Probed: the success that an integration in error waits for.
const NOTE = `
  with stale as materialized (
    select i.number, i.active = 2 and i.is_probed as revived, t.now
    from integrations i cross join lateral (select environment_now(i.environment) as now) t
    where i.number = any ($1::int[]) and i.deleted_at is null
      and (i.failures_in_row > 0 or i.delivery_error_count > 0 or i.active = 2 and i.is_probed
        or i.last_delivery_at is null or i.last_delivery_at < date_trunc('second', t.now))
    order by i.number for no key update of i
  )
  update integrations i set last_delivery_at = greatest(i.last_delivery_at, s.now), failures_in_row = 0, delivery_error_count = 0,
    active = case when s.revived then 1 else i.active end, held_since = case when s.revived then null else i.held_since end,
    is_probed = i.is_probed and not s.revived, probing = case when s.revived then null else i.probing end,
    released_to = case when s.revived then null else i.released_to end,
    updated_at = case when s.revived then date_trunc('second', s.now) else i.updated_at end
  from stale s where i.number = s.number returning i.number, i.environment, s.revived`

const END = `
  with jobs as (${deleteJobs(DELIVERY_DUE, 'any ($1::bigint[])')})
  update deliveries v set status = 'delivered', reason = null, attempts = w.attempts, attempt_count = v.attempt_count + 1,
    round_attempts = v.round_attempts + 1, next_attempt_at = null, delivered_at = w.now, ended_at = w.now
  from (select number, attempts, date_trunc('second', environment_now(environment)) as now
        from unnest($1::bigint[], $2::jsonb[], $3::int[]) w(number, attempts, environment)) w
  where v.number = any ($1::bigint[]) and v.number = w.number`

/** Several that were delivered at the same moment, in one transaction. False: the lease was lost, nothing was recorded. */
async function record(tx: Tx, items: readonly Delivered[]): Promise<boolean[]> {
  const integrations = [...new Set(items.map(({ delivery }) => delivery.integration))]
  const noted = await tx.query<{ number: number; environment: number; revived: boolean }>({
    name: 'note-deliveries',
    text: NOTE,
    values: [integrations],
  })
  await lockOrderingKeys(
    tx,
    items.flatMap(({ delivery }) => laneOf(delivery)),
  )
  const held = await lockFences(
    tx,
    DELIVERY_DUE,
    items.map(({ claimed }) => claimed),
  )
  const ended = items.filter(({ claimed }) => held.has(claimed.id))
  const numbers = ended.map(({ claimed }) => claimed.id)
  const attempts = ended.map(({ delivery, attempt }) => JSON.stringify(withAttempt(delivery, attempt)))
  await tx.query({ name: 'end-deliveries', text: END, values: [numbers, attempts, ended.map(({ delivery }) => delivery.environment)] })
  await scheduleNext(
    tx,
    ended.flatMap(({ delivery }) => laneOf(delivery)),
  )
  await wakeWaiting(
    tx,
    ended.map(({ delivery }) => delivery),
  )
  for (const { number, environment, revived } of noted.rows) {
    if (!revived) continue
    await endProbes(tx, number)
    await release(tx, environment, number)
  }
  return items.map(({ claimed }) => held.has(claimed.id))
}

export const recordDelivered = (pool: Pool, items: readonly Delivered[]): Promise<boolean[]> => transaction(pool, tx => record(tx, items))

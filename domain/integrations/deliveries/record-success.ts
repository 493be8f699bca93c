import type { Pool, Tx } from '../../../store/connect.ts'
import { lockInOrder } from '../../../store/lock-in-order.ts'
import { transaction } from '../../../store/transaction.ts'
import type { InsertCapacity } from '../../durable/jobs/claim-on-insert.ts'
import { type ClaimedJob, lockFences } from '../../durable/jobs/job.ts'
import { deleteJobs } from '../../durable/jobs/sql.ts'
import { wakeLockedRuns } from '../../durable/jobs/wake-runs.ts'
import { DELIVERY_DUE, type DeliveryAttempt, withAttempt } from './delivery.ts'
import type { OpenDelivery } from './load.ts'
import { lockOrderingKeys, orderingKeysOf, scheduleNext } from './ordering-key.ts'
import { endProbes } from './probe.ts'
import { releaseDeliveries } from './release.ts'
import { lockRunsOf } from './waiting-runs.ts'

export type Delivered = { claimed: ClaimedJob; delivery: OpenDelivery; attempt: Omit<DeliveryAttempt, 'number'> }

// A success waits for the integration's row only when it has something to reset: a row that every success writes, or waits for, would be
// the narrowest bottleneck of all. The time of the last delivery is written once a second, unless another transaction has the row. An
// integration in error that is probed becomes active with its first success.
const IS_UNCLEARED = '(i.failures_in_row > 0 or i.delivery_error_count > 0 or i.active = 2 and i.is_probed)'
const IS_OLD = "(i.last_delivery_at is null or i.last_delivery_at < date_trunc('second', g.now))"
const lockedWhere = (where: string, lock: string) =>
  lockInOrder({
    ...{ table: 'integrations i join given g on g.number = i.number', key: 'i.number', keys: '$1::int[]' },
    ...{ columns: 'i.number, i.active = 2 and i.is_probed as revived, g.now', where, strength: `no key update of i ${lock}` },
  })
const UPDATE_INTEGRATIONS = `
  with given as materialized (
    select i.number, environment_now(i.environment) as now from integrations i where i.number = any ($1::int[]) and i.deleted_at is null
  ), cleared as materialized (${lockedWhere(IS_UNCLEARED, '')}
  ), stamped as materialized (${lockedWhere(`${IS_OLD} and not ${IS_UNCLEARED}`, 'skip locked')}
  )
  update integrations i set last_delivery_at = greatest(i.last_delivery_at, s.now), failures_in_row = 0, delivery_error_count = 0, refused_users = '{}',
    active = case when s.revived then 1 else i.active end, held_since = case when s.revived then null else i.held_since end,
    is_probed = i.is_probed and not s.revived, probing = case when s.revived then null else i.probing end,
    released_to = case when s.revived then null else i.released_to end,
    updated_at = case when s.revived then date_trunc('second', s.now) else i.updated_at end
  from (select * from cleared union all select * from stamped) s where i.number = s.number returning i.number, i.environment, s.revived`

const END_DELIVERIES = `
  with jobs as (${deleteJobs(DELIVERY_DUE, 'any ($1::bigint[])')})
  update deliveries v set status = 'delivered', reason = null, attempts = w.attempts, attempt_count = v.attempt_count + 1,
    round_attempts = v.round_attempts + 1, next_attempt_at = null, delivered_at = w.now, ended_at = w.now
  from (select number, attempts, date_trunc('second', environment_now(environment)) as now
        from unnest($1::bigint[], $2::jsonb[], $3::int[]) w(number, attempts, environment)) w
  where v.number = any ($1::bigint[]) and v.number = w.number`

/** Ends the runs that have nothing left to do but to read these results; returns their numbers. No other worker can claim the runs meanwhile. */
export type EndRuns = (tx: Tx, delivered: readonly Delivered[]) => Promise<ReadonlySet<number>>

/**
 * `recorded`: in order; false: the lease was lost, and nothing was recorded. `claimed`: runs that were woken, and claimed at once. `ended`: the
 * numbers of runs that have ended.
 */
type Recorded = { recorded: boolean[]; claimed: ClaimedJob[]; ended: number[] }

export type RecordOptions = { capacity?: InsertCapacity | null; endRuns?: EndRuns }

async function record(tx: Tx, items: readonly Delivered[], { capacity = null, endRuns }: RecordOptions): Promise<Recorded> {
  const integrations = [...new Set(items.map(({ delivery }) => delivery.integration))]
  const updated = await tx.query<{ number: number; environment: number; revived: boolean }>({
    name: 'update-delivered-integrations',
    text: UPDATE_INTEGRATIONS,
    values: [integrations],
  })
  await lockOrderingKeys(tx, orderingKeysOf(items.map(({ delivery }) => delivery)))
  const waiting = await lockRunsOf(
    tx,
    items.map(({ delivery }) => delivery),
  )
  const locked = await lockFences(
    tx,
    DELIVERY_DUE,
    items.map(({ claimed }) => claimed),
  )
  const ended = items.filter(({ claimed }) => locked.has(claimed.id))
  const numbers = ended.map(({ claimed }) => claimed.id)
  const attempts = ended.map(({ delivery, attempt }) => JSON.stringify(withAttempt(delivery, attempt)))
  const deliveries = ended.map(({ delivery }) => delivery)
  const environments = deliveries.map(({ environment }) => environment)
  await tx.query({ name: 'end-deliveries', text: END_DELIVERIES, values: [numbers, attempts, environments] })
  await scheduleNext(tx, orderingKeysOf(deliveries))
  const reading = new Set(deliveries.map(({ run }) => run))
  const free = new Set(waiting.filter(({ is_free }) => is_free).map(({ id }) => id))
  const readers = ended.filter(({ delivery }) => delivery.run !== null && free.has(delivery.run))
  const endedRuns = endRuns && readers.length > 0 ? await endRuns(tx, readers) : new Set<number>()
  const woken = waiting.filter(({ id }) => reading.has(id) && !endedRuns.has(id))
  const runs = await wakeLockedRuns(tx, woken, capacity)
  for (const { number, environment, revived } of updated.rows) {
    if (!revived) continue
    await endProbes(tx, number)
    await releaseDeliveries(tx, environment, number)
  }
  return { recorded: items.map(({ claimed }) => locked.has(claimed.id)), claimed: runs, ended: [...endedRuns] }
}

/**
 * Records deliveries that were delivered at the same moment, in one transaction. The runs that wait for them are ended by `endRuns`, or are claimed
 * as far as there is capacity.
 */
export const recordDelivered = (pool: Pool, items: readonly Delivered[], options: RecordOptions = {}): Promise<Recorded> =>
  transaction(pool, tx => record(tx, items, options))

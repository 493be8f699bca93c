import type { Pool, Tx } from '../../../store/connect.ts'
import { continueLater, continueWork } from '../../durable/jobs/bounded-work.ts'
import { deleteJobs, idIn, lockJobs } from '../../durable/jobs/sql.ts'
import { wakeLockedRuns } from '../../durable/jobs/wake-runs.ts'
import type { Environment } from '../../kernel/environment.ts'
import { DELIVERY_DUE } from './delivery.ts'
import { lockOrderingKeys } from './ordering-key.ts'
import { lockWaitingRuns, runsOfEnded } from './waiting-runs.ts'

/** Kind of the job that fails the open deliveries of a deleted integration. Its id is the integration's number. */
export const DELETION_DUE = 'integration-deletion'

/** Deliveries that one transaction fails: about a second. A pause of weeks may leave millions. */
const AT_ONCE = 5_000
/** Ordering keys that one transaction deletes, once no delivery of theirs is open. */
const ORDERING_KEYS_AT_ONCE = 20_000

type Open = { number: number; user: string | null; run_id: string | null }

/**
 * Fails the first open deliveries, in the order of their numbers; false when no delivery and no ordering key is left. No worker sends any
 * of them: a delivery to a deleted integration cannot be loaded. The locks are taken in the order in which recording takes them: ordering
 * key, the run's job, the delivery's job, delivery.
 */
async function failSome(tx: Tx, environment: Environment, integration: number): Promise<boolean> {
  const { rows } = await tx.query<Open>(
    `select number, case when source = 'event' then user_id end as "user", run_id from deliveries
     where integration = $1 and status in ('pending', 'retrying') order by number limit ${AT_ONCE}`,
    [integration],
  )
  if (rows.length > 0) await failThese(tx, environment, integration, rows)
  if (rows.length === AT_ONCE) return true
  const orderingKeys = await tx.query(
    `delete from ordering_keys where ctid = any (array(
       select ctid from ordering_keys where environment = $1 and integration = $2 limit ${ORDERING_KEYS_AT_ONCE}))`,
    [environment, integration],
  )
  return orderingKeys.rowCount === ORDERING_KEYS_AT_ONCE
}

async function failThese(tx: Tx, environment: Environment, integration: number, open: Open[]): Promise<void> {
  await lockOrderingKeys(
    tx,
    open.flatMap(({ user }) => (user === null ? [] : [{ environment, integration, user }])),
  )
  const runs = await lockWaitingRuns(
    tx,
    open.map(({ run_id }) => ({ environment, run_id })),
  )
  const numbers = open.map(({ number }) => number)
  await tx.query(lockJobs(DELIVERY_DUE, '$1::bigint[]', 'update'), [numbers])
  const failed = await tx.query<{ environment: number; run_id: string | null }>(
    `update deliveries set status = 'failed', reason = 'integration_deleted', next_attempt_at = null, ended_at = date_trunc('second', environment_now($2))
     where number = any ($1::bigint[]) and status in ('pending', 'retrying')
     returning environment, run_id`,
    [numbers, environment],
  )
  // Also the jobs that recording has inserted meanwhile. A worker that executes one of these deliveries can record nothing.
  await tx.query(deleteJobs(DELIVERY_DUE, idIn('$1::bigint[]')), [numbers])
  await wakeLockedRuns(tx, failed.rows.length === open.length ? runs : await runsOfEnded(tx, runs, failed.rows), null)
}

/**
 * Fails the pending deliveries of an integration that this transaction has deleted: the first of them here, the others in further
 * transactions. The integration's row is locked.
 */
export async function failPending(tx: Tx, environment: Environment, integration: number): Promise<void> {
  if (await failSome(tx, environment, integration)) await continueLater(tx, environment, DELETION_DUE, integration)
}

/** One further transaction of that work. */
export const continueFailPending = (pool: Pool, integration: number): Promise<unknown> =>
  continueWork(pool, DELETION_DUE, integration, async tx => {
    const { rows } = await tx.query<{ environment: Environment }>(
      'select environment from integrations where number = $1 and deleted_at is not null for no key update',
      [integration],
    )
    return rows[0] !== undefined && (await failSome(tx, rows[0].environment, integration))
  })

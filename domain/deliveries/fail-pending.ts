import type { Pool, Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { continueLater, continueWork } from '../jobs/bounded-work.ts'
import { deleteJobs, lockJobs } from '../jobs/sql.ts'
import { DELIVERY_DUE } from './delivery.ts'
import { lockOrderingKeys } from './ordering-key.ts'
import { wakeWaiting } from './waiting-runs.ts'

/** Kind of the promise that what was open of a deleted integration fails; its id is the integration's number. */
export const DELETION_DUE = 'integration-deletion'

/** What one transaction fails: a second or so. A pause of weeks may hold millions. */
const AT_ONCE = 5_000
/** Lanes that one transaction removes, once nothing stands in them. */
const LANES_AT_ONCE = 20_000

type Open = { number: number; user: string | null }

/**
 * Fails the first of what is open, in the order of their numbers; false: nothing was left, lanes neither. Nobody sends any of it: to a
 * deleted integration there is nothing to load. Lane, promise, delivery, as whoever records locks them.
 */
async function failSome(tx: Tx, environment: Environment, integration: number): Promise<boolean> {
  const { rows } = await tx.query<Open>(
    `select number, case when source = 'event' then user_id end as "user" from deliveries
     where integration = $1 and status in ('pending', 'retrying') order by number limit ${AT_ONCE}`,
    [integration],
  )
  await lockOrderingKeys(
    tx,
    rows.flatMap(({ user }) => (user === null ? [] : [{ environment, integration, user }])),
  )
  const numbers = rows.map(({ number }) => number)
  await tx.query(lockJobs(DELIVERY_DUE, 'any ($1::bigint[])', 'update'), [numbers])
  const failed = await tx.query<{ environment: number; run_id: string | null }>(
    `update deliveries set status = 'failed', reason = 'integration_deleted', next_attempt_at = null, ended_at = date_trunc('second', environment_now($2))
     where number = any ($1::bigint[]) and status in ('pending', 'retrying') returning environment, run_id`,
    [numbers, environment],
  )
  // With what their holders have promised meanwhile. Whoever has one in hand finds nothing to record to.
  await tx.query(deleteJobs(DELIVERY_DUE, 'any ($1::bigint[])'), [numbers])
  await wakeWaiting(tx, failed.rows)
  if (rows.length === AT_ONCE) return true
  const lanes = await tx.query(
    `delete from ordering_keys where ctid = any (array(
       select ctid from ordering_keys where environment = $1 and integration = $2 limit ${LANES_AT_ONCE}))`,
    [environment, integration],
  )
  return lanes.rowCount === LANES_AT_ONCE
}

/** The integration has been deleted, its row is locked: what was open fails; what is too much at once follows. */
export async function failPending(tx: Tx, environment: Environment, integration: number): Promise<void> {
  if (await failSome(tx, environment, integration)) await continueLater(tx, environment, DELETION_DUE, integration)
}

/** The next step of it. */
export const failPendingMore = (pool: Pool, integration: number): Promise<unknown> =>
  continueWork(pool, DELETION_DUE, integration, async tx => {
    const { rows } = await tx.query<{ environment: Environment }>(
      'select environment from integrations where number = $1 and deleted_at is not null for no key update',
      [integration],
    )
    return rows[0] !== undefined && (await failSome(tx, rows[0].environment, integration))
  })

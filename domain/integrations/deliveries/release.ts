import type { Pool, Tx } from '../../../store/connect.ts'
import { continueLater, continueWork } from '../../durable/jobs/bounded-work.ts'
import { announceJobs } from '../../durable/jobs/job.ts'
import { lockJobs, rescheduleJobs } from '../../durable/jobs/sql.ts'
import type { Environment } from '../../kernel/environment.ts'
import { DELIVERY_DUE } from './delivery.ts'

/** Kind of the job that releases an integration's held deliveries. Its id is the integration's number. */
export const RELEASE_DUE = 'integration-release'

/** Deliveries that one transaction releases: a pause of weeks may leave millions. */
const AT_ONCE = 10_000

// In the order of their numbers. Of an ordering key only the first delivery has a job; the others follow it. Deliveries that failed before
// are tried at once, too: the user who activates an integration has corrected what was wrong with it. The jobs are locked before the
// deliveries, as everywhere.
const RELEASE = `
  with page as materialized (
    select number from deliveries where integration = $2 and number > $3 and status in ('pending', 'retrying') order by number limit $4
  ), locked as materialized (
    ${lockJobs(DELIVERY_DUE, 'array(select number from page)')}
  ), retrying as (
    update deliveries set next_attempt_at = environment_now($1)
    where status = 'retrying' and number in (select number from page) and (select count(*) from locked) >= 0
  ), rescheduled as (
    ${rescheduleJobs({
      kind: DELIVERY_DUE,
      dueAt: 'environment_now($1)',
      where: 'd.id in (select id from locked) and d.due_at > environment_now($1)',
    })} returning 1
  )
  select count(*)::int as read, max(number) as last from page`

/** Releases the deliveries after a number; gives the number of the last one, null when none is left. */
async function releaseSome(tx: Tx, environment: Environment, integration: number, after: number): Promise<number | null> {
  const { rows } = await tx.query<{ read: number; last: number | null }>({
    name: 'release-deliveries',
    text: RELEASE,
    values: [environment, integration, after, AT_ONCE],
  })
  const { read, last } = rows[0]!
  if (read > 0) announceJobs(tx, DELIVERY_DUE)
  return read === AT_ONCE ? last : null
}

/**
 * Makes the held deliveries of an integration due, in their order: the first of them here, the others in further transactions. This
 * transaction has made the integration active; its row is locked.
 */
export async function releaseDeliveries(tx: Tx, environment: Environment, integration: number): Promise<void> {
  const last = await releaseSome(tx, environment, integration, 0)
  if (last === null) return
  await recordReleased(tx, integration, last)
  await continueLater(tx, environment, RELEASE_DUE, integration)
}

const recordReleased = (tx: Tx, integration: number, upto: number): Promise<unknown> =>
  tx.query('update integrations set released_to = $2 where number = $1', [integration, upto])

/**
 * One further transaction of a release. If the integration was paused meanwhile, the release ends, and the next activation begins with the
 * first delivery.
 */
export const continueRelease = (pool: Pool, integration: number): Promise<unknown> =>
  continueWork(pool, RELEASE_DUE, integration, async tx => {
    const { rows } = await tx.query<{ environment: number; active: number; released_to: number }>(
      'select environment, active, coalesce(released_to, 0) as released_to from integrations where number = $1 for no key update',
      [integration],
    )
    const row = rows[0]
    const last = row?.active === 1 ? await releaseSome(tx, row.environment, integration, row.released_to) : null
    if (last !== null) await recordReleased(tx, integration, last)
    return last !== null
  })

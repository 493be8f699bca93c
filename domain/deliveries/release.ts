import type { Pool, Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { continueLater, continueWork } from '../jobs/bounded-work.ts'
import { notifyWorkers, rescheduleJobs } from '../jobs/sql.ts'
import { DELIVERY_DUE } from './delivery.ts'

/** Kind of the promise that an integration's held deliveries go out; its id is the integration's number. */
export const RELEASE_DUE = 'integration-release'

/** What one transaction lets go: a pause of weeks may hold millions. */
const AT_ONCE = 10_000

// In the order of their numbers. Of a lane only the first has a `due` row, the others follow it. Those that failed before are tried at
// once, too: who sets an integration in motion has mended what was wrong with it.
const RELEASE = `
  with chunk as materialized (
    select number from deliveries where integration = $2 and number > $3 and status in ('pending', 'retrying') order by number limit $4
  ), waiting as (
    update deliveries set next_attempt_at = environment_now($1) where status = 'retrying' and number in (select number from chunk)
  ), woken as (
    ${rescheduleJobs({
      kind: DELIVERY_DUE,
      dueAt: 'environment_now($1)',
      where: 'd.id in (select number from chunk) and d.due_at > environment_now($1)',
    })} returning 1
  )
  select count(*)::int as seen, max(number) as last, ${notifyWorkers(DELIVERY_DUE)} from chunk`

async function releaseSome(tx: Tx, environment: Environment, integration: number, after: number): Promise<number | null> {
  const { rows } = await tx.query<{ seen: number; last: number | null }>({
    name: 'release-deliveries',
    text: RELEASE,
    values: [environment, integration, after, AT_ONCE],
  })
  const { seen, last } = rows[0]!
  return seen === AT_ONCE ? last : null
}

/** The integration has become active, its row is locked: what was held is due now, in its order; what is too much at once follows. */
export async function release(tx: Tx, environment: Environment, integration: number): Promise<void> {
  const last = await releaseSome(tx, environment, integration, 0)
  if (last === null) return
  await noteReleased(tx, integration, last)
  await continueLater(tx, environment, RELEASE_DUE, integration)
}

const noteReleased = (tx: Tx, integration: number, upto: number): Promise<unknown> =>
  tx.query('update integrations set released_to = $2 where number = $1', [integration, upto])

/** The next step of a release. An integration that was paused meanwhile is released from the beginning by its next activation. */
export const releaseMore = (pool: Pool, integration: number): Promise<unknown> =>
  continueWork(pool, RELEASE_DUE, integration, async tx => {
    const { rows } = await tx.query<{ environment: number; active: number; released_to: number }>(
      'select environment, active, coalesce(released_to, 0) as released_to from integrations where number = $1 for no key update',
      [integration],
    )
    const row = rows[0]
    const last = row?.active === 1 ? await releaseSome(tx, row.environment, integration, row.released_to) : null
    if (last !== null) await noteReleased(tx, integration, last)
    return last !== null
  })

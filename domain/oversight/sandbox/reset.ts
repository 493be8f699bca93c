import type { Db, Pool, Tx } from '../../../store/connect.ts'
import { beginFactsAnew } from '../../analytics/folding/begin-anew.ts'
import { lockClock } from '../../durable/clock/clock.ts'
import { continueLater, continueWork } from '../../durable/jobs/bounded-work.ts'
import type { Environment } from '../../kernel/environment.ts'
import { conflict } from '../../kernel/refusal.ts'
import { beginReportsAnew } from '../../reporting/reports/begin-anew.ts'
import { REMOVALS, RESET_DUE } from './removals.ts'

// Why nothing of the former history of a sandbox is left, whatever happens at the same time:
//
// - The environment's row says that it is being emptied. Requests are refused while it does. A request that changes something reads it under
//   `for key share`, as every foreign key and every mark of a user does, and a reset takes the row `for update`: the transactions that were under
//   way come wholly before, and their rows are removed.
// - Every step begins with the log: its consumers go to its end, and wait for the commit or are waited for. No event is read any more.
// - The jobs end first. A worker that executes a job finds its claim gone when it records, and drops the rest. A request that it was sending
//   at that moment may still arrive.
// - Every step looks at everything, from the beginning, and only a step that finds nothing ends the reset, in the same transaction. So a crash
//   between two steps, or two workers at one reset, change nothing.

const RESETTING = 'the sandbox is being emptied: repeat the request when `resetting` of GET /v4/test-clock is false'
export const resetting = () => conflict(RESETTING)

/** Throws `conflict` while the environment is being emptied. Until the transaction ends, no reset begins. */
export async function assertNotResetting(tx: Tx, environment: Environment): Promise<void> {
  const { rowCount } = await tx.query({
    name: 'assert-not-resetting',
    text: 'select 1 from environments where id = $1 and reset_at is null for key share',
    values: [environment],
  })
  if (rowCount === 0) throw resetting()
}

export async function isResetting(db: Db, environment: Environment): Promise<boolean> {
  const { rowCount } = await db.query('select 1 from environments where id = $1 and reset_at is not null', [environment])
  return rowCount === 1
}

/**
 * Sets the clock of a sandbox to real time and begins to empty the sandbox; a job does that in bounded steps. A second call meanwhile
 * changes nothing. Throws `conflict` while the clock is being advanced.
 */
export async function beginReset(tx: Tx, environment: Environment): Promise<void> {
  await lockClock(tx, environment)
  await tx.query(`select 1 from environments where id = $1 and kind = 'sandbox' for update`, [environment])
  await tx.query(
    `update environments set reset_at = coalesce(reset_at, clock_timestamp()), clock_offset = '0' where id = $1 and kind = 'sandbox'`,
    [environment],
  )
  await continueLater(tx, environment, RESET_DUE, environment)
}

const LOCK_CONSUMERS = 'select 1 from log_consumers where environment = $1 order by partition, consumer for no key update'
const TO_END = `update log_consumers c set next_offset = l.next_offset from log_positions l
  where c.environment = $1 and l.environment = $1 and l.partition = c.partition and l.next_offset > c.next_offset`

async function step(tx: Tx, environment: Environment): Promise<boolean> {
  await tx.query(LOCK_CONSUMERS, [environment])
  await tx.query(TO_END, [environment])
  const found = await tx.query('select 1 from environments where id = $1 and reset_at is not null for update', [environment])
  if (found.rowCount === 0) return false
  for (const remove of REMOVALS) if (await remove(tx, environment)) return true
  await beginAnew(tx, environment)
  return false
}

/** Tables of the configuration, with their columns whose times may be in the future: rows that are created from now on would count as older. */
const TIMES: Record<string, string[]> = {
  ...Object.fromEntries(
    [
      ['products', 'entitlements', 'offerings', 'segments', 'experiment_groups', 'automations', 'integrations', 'pushes'],
      ['scheduled_reports', 'analytics_views'],
    ]
      .flat()
      .map(table => [table, ['created_at', 'updated_at']]),
  ),
  screens: ['created_at', 'updated_at', 'published_at'],
  remote_configurations: ['created_at', 'updated_at', 'activated_at'],
  experiments: ['created_at', 'updated_at', 'started_at', 'finished_at'],
  analytics_annotations: ['created_at'],
}
const NOT_AHEAD = Object.entries(TIMES).map(
  ([table, columns]) => `update ${table} set ${columns.map(column => `${column} = least(${column}, t)`).join(', ')}
    from date_trunc('second', clock_timestamp()) t where environment = $1 and greatest(${columns.join(', ')}) > t`,
)

const BEGIN = [
  // New events would otherwise be received at the time of the former clock.
  'update log_positions set last_received_at = least(last_received_at, clock_timestamp()) where environment = $1',
  'delete from integrations where environment = $1 and deleted_at is not null',
  'select 1 from integrations where environment = $1 order by number for update',
  `update integrations set active = least(active, 1), held_since = case when active = 0 then least(held_since, clock_timestamp()) end, is_probed = false,
     probing = null, failed_probe = null, newest_probe = null, refused_users = '{}', failures_in_row = 0, delivery_error_count = 0,
     released_to = null, last_delivery_at = null, last_error_at = null, last_error_message = null
   where environment = $1`,
  ...NOT_AHEAD,
]

/** The configuration forgets the former history; the reset ends. */
async function beginAnew(tx: Tx, environment: Environment): Promise<void> {
  for (const statement of BEGIN) await tx.query(statement, [environment])
  await beginReportsAnew(tx, environment)
  await beginFactsAnew(tx, environment)
  await tx.query('update environments set reset_at = null where id = $1', [environment])
}

/** The time of one turn: a worker has other jobs, too. */
const TURN_MS = 2_000

/** Some steps of a reset, one transaction each. */
export async function resetMore(pool: Pool, environment: Environment): Promise<void> {
  const until = performance.now() + TURN_MS
  for (let isLeft = true; isLeft && performance.now() < until; )
    await continueWork(pool, RESET_DUE, environment, async tx => {
      isLeft = await step(tx, environment)
      return isLeft
    })
}

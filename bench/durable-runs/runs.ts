import { setTimeout as sleep } from 'node:timers/promises'
import type { AutomationData } from '../../domain/automations/automation-runs/definition.ts'
import { startRuns } from '../../domain/automations/automation-runs/start.ts'
import type { LogEvent } from '../../domain/durable/log/consumer.ts'
import type { Pool } from '../../store/connect.ts'
import { orderedId, userId } from '../../store/ids.ts'
import { transaction } from '../../store/transaction.ts'

const BATCH = 1_000
const AUTOMATION = 'auto_bench'

const branch = (id: string) => ({ id, type: 'branch' as const, conditions: [], then: [], else: [] })
const DATA: AutomationData = {
  type: 'event',
  platform: null,
  initiators: [{ uid: '1', type: 'event' }],
  actions: {},
  segments: null,
  reentry: true,
  steps: [branch('s1'), branch('s2'), branch('s3')],
}

/** Stores an active automation of three steps. */
export async function storeAutomation(pool: Pool, environment: number): Promise<void> {
  await pool.query(
    `with inserted as (insert into automations (environment, id, name, caption, status, version, created_at, updated_at)
       select $1, $2, 'Three steps', '', 'active', 1, t, t from environment_now($1) t)
     insert into automation_versions (environment, automation_id, version, data) values ($1, $2, 1, $3)`,
    [environment, AUTOMATION, JSON.stringify(DATA)],
  )
}

function events(count: number): LogEvent[] {
  const at = new Date().toISOString()
  return Array.from({ length: count }, (_, n) => ({
    partition: n % 64,
    log_offset: n,
    id: orderedId('evt'),
    name: 'trial_started',
    user_id: userId(),
    platform: 'iOS',
    happened_at: at,
    received_at: at,
    triggers: true,
  }))
}

/** Starts `count` runs. Returns the seconds from the first insert until every run and its steps are durable. */
export async function startAndAwait(pool: Pool, environment: number, count: number): Promise<number> {
  const batches: LogEvent[][] = []
  for (let left = count; left > 0; left -= BATCH) batches.push(events(Math.min(BATCH, left)))
  const began = performance.now()
  for (const batch of batches)
    await transaction(pool, tx =>
      startRuns(
        tx,
        environment,
        batch.map(event => ({ automation: AUTOMATION, version: 1, event, reason: null })),
      ),
    )
  while ((await pool.query(`select 1 from due where kind = 'automation-run' limit 1`)).rowCount) await sleep(20)
  return (performance.now() - began) / 1000
}

/** Throws unless every run succeeded and each of its three steps was committed in its own transaction. */
export async function check(pool: Pool, count: number): Promise<string> {
  const { rows } = await pool.query<{ runs: number; ended: number; apart: number; began: number }>(
    `select (select count(*) from automation_runs)::int as runs,
       (select count(*) from automation_runs where status = 'succeeded' and finished_at is not null)::int as ended,
       (select count(*) from automation_runs where started_at is not null)::int as began,
       (select count(*) from (select run from automation_steps group by run
          having count(*) = 3 and count(distinct xmin::text) = 3 and bool_and(status = 'succeeded')) s)::int as apart`,
  )
  const { runs, ended, apart, began } = rows[0]!
  if (runs !== count || ended !== count || apart !== count || began !== count)
    throw new Error(`of ${count} runs ${runs} are stored, ${ended} ended, ${apart} have three steps of three transactions`)
  return `all ${count} runs ended, each with three steps of three transactions (three different xmin)`
}

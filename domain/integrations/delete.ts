import type { Tx } from '../../store/connect.ts'
import { wakeRuns } from '../automation-runs/wake.ts'
import { automationNaming } from '../automations/in-use.ts'
import { DELIVERY_DUE } from '../deliveries/delivery.ts'
import { RELEASE_DUE } from '../deliveries/release.ts'
import type { Environment } from '../environment.ts'
import { conflict } from '../refusal.ts'
import { type IntegrationRow, lockIntegration } from './integration.ts'
import { PROBE_DUE } from './probing.ts'

/** What holds on to it; null when nothing does. */
async function holder(tx: Tx, environment: Environment, id: string): Promise<string | null> {
  const { rows } = await tx.query<{ holder: string }>(
    `select 'the report ' || id as holder from scheduled_reports
     where environment = $1 and status = 'active' and deleted_at is null and destinations @> jsonb_build_array(jsonb_build_object('id', $2::text))
     union all select 'the push ' || id from pushes where environment = $1 and integration_id = $2
     limit 1`,
    [environment, id],
  )
  return rows[0]?.holder ?? null
}

/** Fails everything that is open; gives the numbers of the automation runs that wait for any of it. */
async function failOpen(tx: Tx, environment: Environment, integration: number): Promise<number[]> {
  const { rows } = await tx.query<{ run: number | null }>(
    `with failed as (
       update deliveries set status = 'failed', reason = 'integration_deleted', next_attempt_at = null,
         ended_at = date_trunc('second', environment_now($1))
       where integration = $2 and status in ('pending', 'retrying') returning environment, run_id
     )
     select (select number from automation_runs r where r.environment = f.environment and r.id = f.run_id) as run from failed f
     where f.run_id is not null`,
    [environment, integration],
  )
  return rows.flatMap(({ run }) => run ?? [])
}

/** Soft: its id is never given again, and its deliveries end their days. Throws `conflict` while something goes to it. */
export async function deleteIntegration(tx: Tx, environment: Environment, id: string): Promise<IntegrationRow> {
  const row = await lockIntegration(tx, environment, id)
  const held = await holder(tx, environment, id)
  if (held !== null) throw conflict(`${held} names the integration`)
  const naming = await automationNaming(tx, environment, 'integration', id)
  if (naming !== null) throw conflict(`the automation ${naming} names the integration`)
  await tx.query(
    `update integrations set active = 0, held_since = null, is_probed = false, probing = null, secrets = '{}', former_signing_secret = null,
       deleted_at = environment_now($1) where environment = $1 and id = $2`,
    [environment, id],
  )
  const waiting = await failOpen(tx, environment, row.number)
  await tx.query('delete from delivery_lanes where environment = $1 and integration = $2', [environment, row.number])
  await wakeRuns(tx, environment, waiting)
  // After the deliveries, with what their holders have promised meanwhile. Whoever has one in hand finds nothing to record to.
  await tx.query(
    `delete from due where kind = '${DELIVERY_DUE}' and id in (
       select number from deliveries where integration = $1 and reason = 'integration_deleted' order by number)`,
    [row.number],
  )
  await tx.query(`delete from due where kind in ('${PROBE_DUE}', '${RELEASE_DUE}') and id = $1`, [row.number])
  return row
}

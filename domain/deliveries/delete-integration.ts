import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { type IntegrationRow, lockIntegration } from '../integrations/integration.ts'
import { deleteJob } from '../jobs/job.ts'
import { automationNaming } from '../references/automation-naming.ts'
import { conflict } from '../refusal.ts'
import { failPending } from './fail-pending.ts'
import { PROBE_DUE } from './probe.ts'
import { RELEASE_DUE } from './release.ts'

/** The first report, push or automation that names the integration; null when nothing names it. */
async function findReference(tx: Tx, environment: Environment, id: string): Promise<string | null> {
  const { rows } = await tx.query<{ reference: string }>(
    `select 'the report ' || id as reference from scheduled_reports
     where environment = $1 and status = 'active' and deleted_at is null and destinations @> jsonb_build_array(jsonb_build_object('id', $2::text))
     union all select 'the push ' || id from pushes where environment = $1 and integration_id = $2
     limit 1`,
    [environment, id],
  )
  if (rows[0]) return rows[0].reference
  const automation = await automationNaming(tx, environment, 'integration', id)
  return automation === null ? null : `the automation ${automation}`
}

/**
 * Deletes softly: the row stays, so that its id is never given again and its deliveries are kept for their 30 days. Throws `conflict`
 * while something names the integration.
 */
export async function deleteIntegration(tx: Tx, environment: Environment, id: string): Promise<IntegrationRow> {
  const row = await lockIntegration(tx, environment, id)
  const reference = await findReference(tx, environment, id)
  if (reference !== null) throw conflict(`${reference} names the integration`)
  await tx.query(
    `update integrations set active = 0, held_since = null, is_probed = false, probing = null, secrets = '{}', former_signing_secret = null,
       deleted_at = environment_now($1) where environment = $1 and id = $2`,
    [environment, id],
  )
  await failPending(tx, environment, row.number)
  for (const kind of [PROBE_DUE, RELEASE_DUE]) await deleteJob(tx, kind, row.number)
  return row
}

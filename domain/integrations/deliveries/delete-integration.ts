import type { Tx } from '../../../store/connect.ts'
import { deleteJob } from '../../durable/jobs/job.ts'
import type { Environment } from '../../kernel/environment.ts'
import { automationNaming } from '../../kernel/references/automation-naming.ts'
import { type Holder, inUse } from '../../kernel/refusal.ts'
import { type IntegrationRow, lockIntegration } from '../integration.ts'
import { failPending } from './fail-pending.ts'
import { PROBE_DUE } from './probe.ts'
import { RELEASE_DUE } from './release.ts'

/** The first report, push or automation that names the integration; null when nothing names it. */
async function findHolder(tx: Tx, environment: Environment, id: string): Promise<Holder | null> {
  const { rows } = await tx.query<Holder>(
    `select 'scheduled report' as kind, id, report_name as title from scheduled_reports
     where environment = $1 and status = 'active' and deleted_at is null and destinations @> jsonb_build_array(jsonb_build_object('id', $2::text))
     union all select 'push', id, name from pushes where environment = $1 and integration_id = $2
     limit 1`,
    [environment, id],
  )
  return rows[0] ?? (await automationNaming(tx, environment, 'integration', id))
}

/**
 * Deletes softly: the row stays, so that its id is never given again and its deliveries are kept for their 30 days. Throws `conflict`
 * while something names the integration.
 */
export async function deleteIntegration(tx: Tx, environment: Environment, id: string): Promise<IntegrationRow> {
  const row = await lockIntegration(tx, environment, id)
  const holder = await findHolder(tx, environment, id)
  if (holder) throw inUse('integration', holder)
  await tx.query(
    `update integrations set active = 0, held_since = null, is_probed = false, probing = null, secrets = '{}', former_signing_secret = null,
       deleted_at = environment_now($1) where environment = $1 and id = $2`,
    [environment, id],
  )
  await failPending(tx, environment, row.number)
  for (const kind of [PROBE_DUE, RELEASE_DUE]) await deleteJob(tx, kind, row.number)
  return row
}

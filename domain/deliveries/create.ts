import type { Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { probePromise } from '../integrations/probing.ts'
import { DUE_CHANNEL } from '../runs/create.ts'
import { DELIVERY_DUE, firstDue } from './delivery.ts'

/** What a webhook step sends: its run, and the event that started it. */
export type AutomationDelivery = {
  integrationId: string
  run: {
    id: string
    automation_id: string
    version: number
    event_id: string
    event_name: string
    user_id: string | null
    partition: number
    log_offset: number
  }
  stepId: string
}

// `for share`: whoever activates or pauses the integration comes before or after, so a held delivery is never left out of a release.
const CREATE = `
  with i as materialized (
    select number, active, held_since, is_probed from integrations
    where environment = $1 and id = $2 and slug = 'webhooks' and deleted_at is null for share
  ), made as (
    insert into deliveries (environment, id, integration, source, event_id, event_name, user_id, partition, log_offset, automation, run_id,
      step_id, created_at)
    select $1, $3, i.number, 'automation', $4, $5, $6, $7, $8, $9, $10, $11, date_trunc('second', t) from i, environment_now($1) t
    on conflict (environment, run_id, step_id) where source = 'automation' do nothing
    returning number, id, integration, created_at
  ), promised as (
    insert into due (kind, id, environment, due_at, destination)
    select '${DELIVERY_DUE}', made.number, $1, ${firstDue('made.created_at')}, i.number from made join i on i.number = made.integration
  ), probed as (
    ${probePromise('select i.number as integration from i, made where i.is_probed', '$1')}
  )
  select id, pg_notify('${DUE_CHANNEL}', '${DELIVERY_DUE}') from made`

/**
 * Makes the delivery of a run's webhook step, or finds the one that an earlier execution of the step has made; null when the integration
 * is gone or is no webhook. Its end wakes the run.
 */
export async function createAutomationDelivery(
  tx: Tx,
  environment: Environment,
  { integrationId, run, stepId }: AutomationDelivery,
): Promise<string | null> {
  const automation = { id: run.automation_id, version: run.version, run_id: run.id, step_id: stepId }
  const made = await tx.query<{ id: string }>({
    name: 'create-automation-delivery',
    text: CREATE,
    values: [
      environment,
      integrationId,
      orderedId('dlv'),
      run.event_id,
      run.event_name,
      run.user_id,
      run.partition,
      run.log_offset,
      JSON.stringify(automation),
      run.id,
      stepId,
    ],
  })
  if (made.rows[0]) return made.rows[0].id
  const { rows } = await tx.query<{ id: string }>({
    name: 'find-automation-delivery',
    text: `select id from deliveries where environment = $1 and run_id = $2 and step_id = $3 and source = 'automation'`,
    values: [environment, run.id, stepId],
  })
  return rows[0]?.id ?? null
}

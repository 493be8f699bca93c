import type { Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { capacityValues, FIRST_FENCE, type InsertCapacity, leaseIf } from '../jobs/claim-on-insert.ts'
import type { ClaimedJob } from '../jobs/job.ts'
import { insertJobs, notifyWorkers } from '../jobs/sql.ts'
import { DELIVERY_DUE, firstDue } from './delivery.ts'
import { scheduleProbeSql } from './probe.ts'

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
  ), job as (
    ${insertJobs({
      kind: DELIVERY_DUE,
      id: 'made.number',
      environment: '$1',
      dueAt: firstDue('made.created_at'),
      destination: 'i.number',
      lease: 'l.lease',
      from: `made join i on i.number = made.integration
        cross join lateral (select ${leaseIf('$12 > 0 and i.active = 1 and i.number <> all ($13::int[])', '$14')} as lease) l`,
    })}
    returning id, destination, lease_until is not null as is_claimed
  ), probed as (
    ${scheduleProbeSql('select i.number as integration from i, made where i.is_probed', '$1')}
  )
  select made.id, job.id as number, job.destination, job.is_claimed, case when not job.is_claimed then ${notifyWorkers(DELIVERY_DUE)} end
  from made, job`

/** `claimed`: what this process has claimed in making it. */
export type CreatedDelivery = { id: string; claimed: ClaimedJob[] }

/**
 * Makes the delivery of a run's webhook step, or finds the one that an earlier execution of the step has made; null when the integration
 * is gone or is no webhook. Its end wakes the run. One that may go out at once is claimed if there is room for it in this process.
 */
export async function createAutomationDelivery(
  tx: Tx,
  environment: Environment,
  { integrationId, run, stepId }: AutomationDelivery,
  room: InsertCapacity | null,
): Promise<CreatedDelivery | null> {
  const automation = { id: run.automation_id, version: run.version, run_id: run.id, step_id: stepId }
  const made = await tx.query<{ id: string; number: number; destination: number; is_claimed: boolean }>({
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
      ...capacityValues(room),
    ],
  })
  const [one] = made.rows
  if (one) {
    const claimed = { kind: DELIVERY_DUE, id: one.number, fence: FIRST_FENCE, environment, destination: one.destination }
    return { id: one.id, claimed: one.is_claimed ? [claimed] : [] }
  }
  const { rows } = await tx.query<{ id: string }>({
    name: 'find-automation-delivery',
    text: `select id from deliveries where environment = $1 and run_id = $2 and step_id = $3 and source = 'automation'`,
    values: [environment, run.id, stepId],
  })
  return rows[0] ? { id: rows[0].id, claimed: [] } : null
}

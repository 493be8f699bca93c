import type { Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { capacityValues, FIRST_FENCE, type InsertCapacity, leaseIf } from '../jobs/claim-on-insert.ts'
import { announceJobs, type ClaimedJob } from '../jobs/job.ts'
import { insertJobs } from '../jobs/sql.ts'
import { DELIVERY_DUE, firstDue } from './delivery.ts'
import { scheduleProbeSql } from './probe.ts'

/** What a webhook step sends: its run, and the event that started the run. */
type AutomationDelivery = {
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

// `for share`: a transaction that activates or pauses the integration comes wholly before or wholly after this one. So a release never
// leaves a held delivery out.
const CREATE = `
  with i as materialized (
    select number, active, held_since, is_probed from integrations
    where environment = $1 and id = $2 and slug = 'webhooks' and deleted_at is null for share
  ), created as (
    insert into deliveries (environment, id, integration, source, event_id, event_name, user_id, partition, log_offset, automation, run_id,
      step_id, created_at)
    select $1, $3, i.number, 'automation', $4, $5, $6, $7, $8, $9, $10, $11, date_trunc('second', t) from i, environment_now($1) t
    on conflict (environment, run_id, step_id) where source = 'automation' do nothing
    returning number, id, integration, created_at
  ), job as (
    ${insertJobs({
      kind: DELIVERY_DUE,
      id: 'created.number',
      environment: '$1',
      dueAt: firstDue('created.created_at'),
      destination: 'i.number',
      lease: 'l.lease',
      from: `created join i on i.number = created.integration
        cross join lateral (select ${leaseIf('$12 > 0 and i.active = 1 and i.number <> all ($13::int[])', '$14')} as lease) l`,
    })}
    returning id, destination, lease_until is not null as is_claimed
  ), probed as (
    ${scheduleProbeSql('select i.number as integration from i, created where i.is_probed', '$1')}
  )
  select created.id, job.id as number, job.destination, job.is_claimed from created, job`

/** `claimed`: the delivery's job, if this process has claimed it on insert. */
type CreatedDelivery = { id: string; claimed: ClaimedJob[] }

/**
 * Creates the delivery of a run's webhook step, or finds the delivery that an earlier execution of the step has created; null when the
 * integration is deleted or is no webhook. The delivery's end wakes the run. A delivery that is due at once is claimed on insert, if this
 * process has the capacity.
 */
export async function createAutomationDelivery(
  tx: Tx,
  environment: Environment,
  { integrationId, run, stepId }: AutomationDelivery,
  capacity: InsertCapacity | null,
): Promise<CreatedDelivery | null> {
  const automation = { id: run.automation_id, version: run.version, run_id: run.id, step_id: stepId }
  const created = await tx.query<{ id: string; number: number; destination: number; is_claimed: boolean }>({
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
      ...capacityValues(capacity),
    ],
  })
  const [delivery] = created.rows
  if (delivery) {
    if (!delivery.is_claimed) announceJobs(tx, DELIVERY_DUE)
    const job = { kind: DELIVERY_DUE, id: delivery.number, fence: FIRST_FENCE, environment, destination: delivery.destination }
    return { id: delivery.id, claimed: delivery.is_claimed ? [job] : [] }
  }
  const { rows } = await tx.query<{ id: string }>({
    name: 'find-automation-delivery',
    text: `select id from deliveries where environment = $1 and run_id = $2 and step_id = $3 and source = 'automation'`,
    values: [environment, run.id, stepId],
  })
  return rows[0] ? { id: rows[0].id, claimed: [] } : null
}

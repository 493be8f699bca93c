import { arrayOf } from '../../../store/array-literal.ts'
import type { Tx } from '../../../store/connect.ts'
import { derivedId } from '../../../store/ids.ts'
import { capacityValues, FIRST_FENCE, type InsertCapacity, leaseOfNth } from '../../durable/jobs/claim-on-insert.ts'
import { announceJobs, type ClaimedJob } from '../../durable/jobs/job.ts'
import { insertJobs } from '../../durable/jobs/sql.ts'
import type { Environment } from '../../kernel/environment.ts'
import { DELIVERY_DUE, firstDue } from './delivery.ts'
import { scheduleProbeSql } from './probe.ts'
import { NOT_CREATED } from './require-created.ts'

/** The content of a webhook step: its run, and the event that started the run. */
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
  trace?: string | null
}

// `for key share`, in the order of their numbers: a transaction that activates or pauses an integration comes wholly before or wholly after this
// one. So a release never leaves a held delivery out. The integration's id as an ordered range: it leaves one index to a plan that was made
// while the table was empty.
const LEASE = leaseOfNth({ nth: 'i.nth', nthOf: 'i.nth_of', destination: 'i.destination', first: 13 })
const CREATE = `
  with given as (
    select * from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::smallint[], $8::bigint[], $9::jsonb[], $10::text[], $11::text[],
        $12::text[])
      with ordinality w(integration_id, id, event_id, event_name, user_id, partition, log_offset, automation, run_id, step_id, trace, n)
  ), i as materialized (
    select l.* from (
      select distinct f.number from (select distinct integration_id as id from given) k cross join lateral (
        select number from integrations where environment = $1 and id >= k.id and id <= k.id order by id limit 1) f order by f.number) n
    cross join lateral (
      select id, number, active, held_since, is_probed from integrations
      where number = n.number and slug = 'webhooks' and deleted_at is null limit 1 for key share) l
  ), created as (
    insert into deliveries (environment, id, integration, source, event_id, event_name, user_id, partition, log_offset, automation, run_id,
      step_id, created_at, trace_context)
    select $1, w.id, i.number, 'automation', w.event_id, w.event_name, w.user_id, w.partition, w.log_offset, w.automation, w.run_id, w.step_id,
      date_trunc('second', t), w.trace
    from environment_now($1) t, given w join i on i.id = w.integration_id order by w.n
    on conflict do nothing
    returning number, id, integration, created_at, run_id, step_id
  ), placed as (
    select created.number, created.created_at, row_number() over (order by created.number) as nth,
      row_number() over (partition by created.integration order by created.number) as nth_of, i.number as destination, i.active, i.held_since
    from created join i on i.number = created.integration
  ), jobs as (
    ${insertJobs({
      kind: DELIVERY_DUE,
      id: 'i.number',
      environment: '$1',
      dueAt: firstDue('i.created_at'),
      destination: 'i.destination',
      lease: 'l.lease',
      from: `placed i cross join lateral (select case when i.active = 1 then ${LEASE} end as lease) l`,
    })}
    returning id, destination, lease_until is not null as is_claimed
  ), probed as (
    ${scheduleProbeSql('select distinct i.number as integration from i join created on created.integration = i.number where i.is_probed order by 1', '$1')}
  )
  select created.id, created.run_id, created.step_id, jobs.id as number, jobs.destination, jobs.is_claimed
  from created join jobs on jobs.id = created.number`

// The run and the integration as ordered ranges, as above. An integration that takes deliveries is locked by the statement above.
const FIND = `
  select k.n::int as n, v.id, coalesce((
    select slug = 'webhooks' and deleted_at is null from integrations
    where environment = $1 and id >= k.integration_id and id <= k.integration_id order by id limit 1), false) as takes_deliveries
  from unnest($2::text[], $3::text[], $4::text[]) with ordinality k(run_id, step_id, integration_id, n)
  left join lateral (
    select id from deliveries
    where environment = $1 and run_id >= k.run_id and run_id <= k.run_id and step_id = k.step_id and source = 'automation'
    order by run_id limit 1) v on true`

/** `ids`: of the deliveries, in order; null: the integration is deleted or is no webhook. `claimed`: the jobs that this process has claimed on insert. */
type CreatedDeliveries = { ids: (string | null)[]; claimed: ClaimedJob[] }

/**
 * Creates the deliveries of the webhook steps of runs, or finds those that an earlier execution of a step has created. The end of a delivery
 * wakes its run. Deliveries that are due at once are claimed on insert, as far as this process has capacity. Throws where an integration takes
 * deliveries and one was not created.
 */
export async function createAutomationDeliveries(
  tx: Tx,
  environment: Environment,
  wanted: readonly AutomationDelivery[],
  capacity: InsertCapacity | null,
): Promise<CreatedDeliveries> {
  const automation = ({ run, stepId }: AutomationDelivery) =>
    JSON.stringify({ id: run.automation_id, version: run.version, run_id: run.id, step_id: stepId })
  const { rows } = await tx.query<{
    id: string
    run_id: string
    step_id: string
    number: number
    destination: number
    is_claimed: boolean
  }>({
    name: 'create-automation-deliveries',
    text: CREATE,
    values: [
      environment,
      wanted.map(({ integrationId }) => integrationId),
      wanted.map(({ run, stepId }) => derivedId('dlv', run.id, stepId)),
      wanted.map(({ run }) => run.event_id),
      wanted.map(({ run }) => run.event_name),
      wanted.map(({ run }) => run.user_id),
      wanted.map(({ run }) => run.partition),
      wanted.map(({ run }) => run.log_offset),
      wanted.map(automation),
      wanted.map(({ run }) => run.id),
      wanted.map(({ stepId }) => stepId),
      arrayOf(wanted, ({ trace = null }) => trace),
      ...capacityValues(capacity),
    ],
  })
  if (rows.some(({ is_claimed }) => !is_claimed)) announceJobs(tx, DELIVERY_DUE)
  const keyOf = (run: string, step: string) => `${run} ${step}`
  const created = new Map(rows.map(row => [keyOf(row.run_id, row.step_id), row.id]))
  const ids = wanted.map(({ run, stepId }) => created.get(keyOf(run.id, stepId)) ?? null)
  const missing = ids.flatMap((id, i) => (id === null ? i : []))
  if (missing.length > 0) {
    const found = await tx.query<{ n: number; id: string | null; takes_deliveries: boolean }>({
      name: 'find-automation-deliveries',
      text: FIND,
      values: [
        environment,
        missing.map(i => wanted[i]!.run.id),
        missing.map(i => wanted[i]!.stepId),
        missing.map(i => wanted[i]!.integrationId),
      ],
    })
    for (const { n, id, takes_deliveries } of found.rows) {
      const { run, stepId } = wanted[missing[n - 1]!]!
      if (id === null && takes_deliveries) throw new Error(`${NOT_CREATED} (run ${run.id}, step ${stepId})`)
      ids[missing[n - 1]!] = id
    }
  }
  const claimed = rows
    .filter(({ is_claimed }) => is_claimed)
    .map(({ number, destination }) => ({ kind: DELIVERY_DUE, id: number, fence: FIRST_FENCE, environment, destination }))
  return { ids, claimed }
}

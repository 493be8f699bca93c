import { arrayOf, type Element } from '../../../store/array-literal.ts'
import type { Tx } from '../../../store/connect.ts'
import { derivedId } from '../../../store/ids.ts'
import { FIRST_FENCE, type InsertCapacity, leaseIf } from '../../durable/jobs/claim-on-insert.ts'
import { announceJobs, type ClaimedJob } from '../../durable/jobs/job.ts'
import { insertJobs } from '../../durable/jobs/sql.ts'
import { AUTOMATION_RUN_DUE } from '../../durable/jobs/wake-runs.ts'
import type { LogEvent } from '../../durable/log/consumer.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { SkipReason } from './start-rules.ts'

/** `reason`: why it is skipped; null: it starts. */
export type NewAutomationRun = { automation: string; version: number; event: LogEvent; reason: SkipReason | null }

// A consumer handles an event once. The unique index `automation_runs_once` refuses a second run of it in any case.
const START = `
  with created as (
    insert into automation_runs (environment, id, automation_id, version, user_id, event_id, event_name, happened_at, received_at, partition,
      log_offset, position, status, reason, is_skipped, due_at, created_at, finished_at, trace_context)
    select $1, k.id, k.automation, k.version, k.user_id, k.event_id, k.event_name, k.happened_at, k.received_at, k.partition, k.log_offset,
      k.log_offset, case when k.reason is null then 'pending' else 'skipped' end, k.reason, k.reason is not null, case when k.reason is null then t end,
      date_trunc('second', t), case when k.reason is not null then t end, k.trace_context
    from environment_now($1) t, unnest($2::text[], $3::text[], $4::int[], $5::text[], $6::text[], $7::text[], $8::timestamptz[],
      $9::timestamptz[], $10::smallint[], $11::bigint[], $12::text[], $13::text[]) with ordinality
      k(id, automation, version, user_id, event_id, event_name, happened_at, received_at, partition, log_offset, reason, trace_context, n)
    order by k.n
    returning number, due_at
  ), placed as (
    select number, due_at, row_number() over (order by number) as nth from created where due_at is not null
  ), jobs as (
    ${insertJobs({
      kind: AUTOMATION_RUN_DUE,
      id: 'number',
      environment: '$1',
      dueAt: 'due_at',
      lease: leaseIf('nth <= $14', '$15'),
      from: 'placed',
    })}
    returning id, lease_until
  )
  select array_agg(id) filter (where lease_until is not null) as claimed,
    coalesce(bool_or(lease_until is null), false) as has_others
  from jobs`

/**
 * Creates the runs in one statement. This process claims those that start as far as it has capacity; the others are announced to the workers
 * once the transaction has committed.
 */
export async function startRuns(
  tx: Tx,
  environment: Environment,
  runs: readonly NewAutomationRun[],
  capacity: InsertCapacity | null = null,
): Promise<ClaimedJob[]> {
  if (runs.length === 0) return []
  const of = (value: (event: LogEvent) => Element) => arrayOf(runs, ({ event }) => value(event))
  const { most, leaseMs } = capacity ?? { most: 0, leaseMs: 0 }
  const { rows } = await tx.query<{ claimed: number[] | null; has_others: boolean }>({
    name: 'start-automation-runs',
    text: START,
    values: [
      environment,
      arrayOf(runs, r => derivedId('run', r.event.id, r.automation)),
      arrayOf(runs, r => r.automation),
      arrayOf(runs, r => r.version),
      of(e => e.user_id),
      of(e => e.id),
      of(e => e.name),
      of(e => e.happened_at),
      of(e => e.received_at),
      of(e => e.partition),
      of(e => e.log_offset),
      arrayOf(runs, r => r.reason),
      of(e => e.trace_context ?? null),
      most,
      leaseMs,
    ],
  })
  const { claimed, has_others } = rows[0]!
  if (has_others) announceJobs(tx, AUTOMATION_RUN_DUE)
  return (claimed ?? []).map(id => ({ kind: AUTOMATION_RUN_DUE, id, fence: FIRST_FENCE, environment, destination: null }))
}

import type { Db } from '../../../store/connect.ts'
import type { Attempt } from '../../durable/jobs/record.ts'
import { IS_CANCELLED } from '../../integrations/deliveries/waiting-runs.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { Step } from './definition.ts'
import type { AutomationStepStatus } from './next-step.ts'
import { pinnedSteps } from './pinned-steps.ts'

/** A step of a run as it is stored. Times as Postgres writes them, with microseconds. */
export type TimelineStep = {
  n: number
  step_id: string
  type: string
  status: AutomationStepStatus
  reason: string | null
  started_at: string
  due_at: string | null
  result: Record<string, unknown> | null
  attempts: Attempt[]
}

/** A claimed run. */
export type AutomationRun = {
  /** Its number in the table, and the id of its job. */
  number: number
  fence: number
  environment: Environment
  id: string
  automation_id: string
  version: number
  user_id: string | null
  event_id: string
  event_name: string
  partition: number
  log_offset: number
  /** Null: the automation was deleted. */
  automation_status: 'active' | 'inactive' | 'paused' | null
  /** Cancelled with the other runs of its automation, which was set inactive or deleted; no worker has recorded that for this run yet. */
  is_cancelled: boolean
  /** The environment's now, with microseconds. */
  now: string
  trace_context: string | null
}

export type LoadedRun = { run: AutomationRun; steps: Step[]; timeline: TimelineStep[] }
export type ClaimedNumber = { number: number; fence: number }

// A run that was never claimed before has no recorded steps, unless it is a replay, which takes some over: otherwise the statement does not
// look for steps. It finds the rows one by one: without statistics a join may read a whole index.
const LOAD = `
  select r.number, k.fence, r.environment, r.id, r.automation_id, r.version, r.user_id, r.event_id, r.event_name, r.partition, r.log_offset,
    r.trace_context, a.status as automation_status, ${IS_CANCELLED('r.number')} as is_cancelled, (statement_timestamp() + e.clock_offset)::text as now, s.timeline
  from unnest($1::bigint[], $2::int[]) k(number, fence)
  cross join lateral (select * from automation_runs where number = k.number limit 1) r
  cross join lateral (select clock_offset from environments where id = r.environment limit 1) e
  left join lateral (select status, cancelled_upto from automations where environment = r.environment and id = r.automation_id limit 1) a on true
  left join lateral (
    select json_agg(json_build_object('n', n, 'step_id', step_id, 'type', type, 'status', status, 'reason', reason, 'started_at', started_at::text,
      'due_at', due_at::text, 'result', result, 'attempts', attempts) order by n) as timeline
    from automation_steps where run = r.number and (k.fence > 1 or r.replay_of is not null)) s on true`

type Row = AutomationRun & { timeline: TimelineStep[] | null }

/** The runs with the steps that they execute and their timelines; null for a run that is gone. */
export async function loadRuns(db: Db, claimed: readonly ClaimedNumber[]): Promise<(LoadedRun | null)[]> {
  const { rows } = await db.query<Row>({
    name: 'load-automation-runs',
    text: LOAD,
    values: [claimed.map(c => c.number), claimed.map(c => c.fence)],
  })
  const definitions = await pinnedSteps(db, rows)
  const found = new Map(rows.map(({ timeline, ...run }) => [`${run.number}:${run.fence}`, { run, timeline: timeline ?? [] }]))
  return claimed.map(({ number, fence }) => {
    const one = found.get(`${number}:${fence}`)
    if (!one) return null
    const steps = definitions(one.run)
    if (!steps) throw new Error(`version ${one.run.version} of automation ${one.run.automation_id} is not stored`)
    return { ...one, steps }
  })
}

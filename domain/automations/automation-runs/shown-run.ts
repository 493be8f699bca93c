import type { Db } from '../../../store/connect.ts'
import type { Attempt } from '../../durable/jobs/record.ts'
import type { Environment } from '../../kernel/environment.ts'
import { nextStep, type Passed, StepMismatch } from './next-step.ts'
import { pinnedSteps } from './pinned-steps.ts'
import type { AutomationRunRow } from './run.ts'
import { deliveriesOfRuns, type ShownDelivery } from './shown-deliveries.ts'

type AutomationStatus = 'active' | 'inactive' | 'paused'

/** A run with what its steps and its automation say about it. */
export type ShownRun = AutomationRunRow & {
  /** Null: the automation was deleted. */
  automation_name: string | null
  automation_status: AutomationStatus | null
  /** The present step has failed and is tried again, by the run or by its delivery. */
  is_retrying: boolean
  /** Null as well while the integration is not active. */
  next_attempt_at: string | null
  /** Of a run that is retrying or has failed: what its latest attempt that failed says. */
  last_error: string | null
}

type Recorded = Passed & { run: number; due_at: string | null; attempts: Attempt[] }

const hasBegun = ({ status }: AutomationRunRow) => status === 'running' || status === 'waiting'
const isTold = (run: AutomationRunRow) => hasBegun(run) || run.status === 'failed'

/**
 * The runs with the step that is under way, from the beginning of its first attempt, and with what becomes of it: both follow from the recorded
 * steps. A worker writes nothing when it begins a step.
 */
export async function showRuns(db: Db, environment: Environment, runs: readonly AutomationRunRow[]): Promise<ShownRun[]> {
  if (runs.length === 0) return []
  const automations = await automationsOf(db, environment, runs)
  const begun = runs.filter(hasBegun)
  const definitions = await pinnedSteps(
    db,
    begun.map(({ automation_id, version }) => ({ environment, automation_id, version })),
  )
  const told = runs.filter(isTold).map(({ number }) => number)
  const timelines = Map.groupBy(await recordedSteps(db, told), ({ run }) => run)
  const deliveries = Map.groupBy(await deliveriesOfRuns(db, environment, told), ({ run }) => run)
  return runs.map(run => {
    const timeline = timelines.get(run.number) ?? []
    const steps = hasBegun(run) ? definitions({ environment, automation_id: run.automation_id, version: run.version }) : undefined
    const current_step = steps ? currentStep(steps, timeline, run.current_step) : run.current_step
    const { name: automation_name = null, status: automation_status = null } = automations.get(run.automation_id) ?? {}
    return { ...run, current_step, automation_name, automation_status, ...retryOf(run, timeline.at(-1), deliveries.get(run.number) ?? []) }
  })
}

function currentStep(steps: Parameters<typeof nextStep>[0], timeline: readonly Passed[], recorded: string | null): string | null {
  try {
    return nextStep(steps, timeline).next?.step.id ?? null
  } catch (error) {
    // The worker that claims this run fails it for the same reason.
    if (error instanceof StepMismatch) return recorded
    throw error
  }
}

type Retry = Pick<ShownRun, 'is_retrying' | 'next_attempt_at' | 'last_error'>
const NO_RETRY: Retry = { is_retrying: false, next_attempt_at: null, last_error: null }

function retryOf(run: AutomationRunRow, last: Recorded | undefined, deliveries: readonly ShownDelivery[]): Retry {
  if (!last || !isTold(run)) return NO_RETRY
  const delivery = deliveries.find(({ step_id }) => step_id === last.step_id)
  const attempts: readonly { error: string | null }[] = delivery?.attempts ?? last.attempts
  const last_error = attempts.findLast(({ error }) => error !== null)?.error ?? null
  if (run.status === 'failed') return { ...NO_RETRY, last_error }
  if (last.status === 'running') return { is_retrying: true, next_attempt_at: last.due_at, last_error }
  if (last.status !== 'waiting' || delivery === undefined || !delivery.is_retried) return NO_RETRY
  return { is_retrying: true, next_attempt_at: delivery.next_attempt_at, last_error }
}

async function recordedSteps(db: Db, runs: readonly number[]): Promise<Recorded[]> {
  if (runs.length === 0) return []
  const { rows } = await db.query<Recorded>({
    name: 'steps-of-automation-runs',
    text: 'select run, step_id, status, result, due_at, attempts from automation_steps where run = any ($1::bigint[]) order by run, n',
    values: [runs],
  })
  return rows
}

type Named = { id: string; name: string; status: AutomationStatus }

async function automationsOf(db: Db, environment: Environment, runs: readonly AutomationRunRow[]): Promise<Map<string, Named>> {
  const { rows } = await db.query<Named>({
    name: 'automations-of-runs',
    text: `select a.id, a.name, a.status from unnest($2::text[]) k(id)
           cross join lateral (select id, name, status from automations where environment = $1 and id = k.id limit 1) a`,
    values: [environment, [...new Set(runs.map(({ automation_id }) => automation_id))]],
  })
  return new Map(rows.map(row => [row.id, row]))
}

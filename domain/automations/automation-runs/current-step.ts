import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { nextStep, type Passed, StepMismatch } from './next-step.ts'
import { pinnedSteps } from './pinned-steps.ts'
import type { AutomationRunRow } from './run.ts'

/**
 * The runs with the step that is under way, from the beginning of its first attempt: it follows from the recorded steps. A worker writes
 * nothing when it begins a step.
 */
export async function withCurrentSteps(db: Db, environment: Environment, runs: readonly AutomationRunRow[]): Promise<AutomationRunRow[]> {
  const begun = runs.filter(({ status }) => status === 'running' || status === 'waiting')
  if (begun.length === 0) return [...runs]
  const definitions = await pinnedSteps(
    db,
    begun.map(({ automation_id, version }) => ({ environment, automation_id, version })),
  )
  const { rows } = await db.query<Passed & { run: number }>({
    name: 'steps-of-automation-runs',
    text: 'select run, step_id, status, result from automation_steps where run = any ($1::bigint[]) order by run, n',
    values: [begun.map(({ number }) => number)],
  })
  const timelines = Map.groupBy(rows, ({ run }) => run)
  return runs.map(run => {
    const steps = begun.includes(run) ? definitions({ environment, automation_id: run.automation_id, version: run.version }) : undefined
    if (!steps) return run
    try {
      return { ...run, current_step: nextStep(steps, timelines.get(run.number) ?? []).next?.step.id ?? null }
    } catch (error) {
      // The worker that claims this run fails it for the same reason.
      if (error instanceof StepMismatch) return run
      throw error
    }
  })
}

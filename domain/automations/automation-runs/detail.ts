import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type StepAhead, stepsAhead } from './ahead.ts'
import { locatedSteps, type Step } from './definition.ts'
import { type ShownStep, timelineOfRun } from './list.ts'
import { pinnedSteps } from './pinned-steps.ts'
import { findAutomationRun } from './run.ts'
import { deliveriesOfRuns, type ShownDelivery } from './shown-deliveries.ts'
import { type ShownRun, showRuns } from './shown-run.ts'

/** `definition`: as the version of the run has it. `delivery`: of a webhook step, as long as it is kept. */
export type DetailStep = ShownStep & { definition: Step | null; delivery: ShownDelivery | null }
export type RunDetail = { run: ShownRun; steps: DetailStep[]; ahead: StepAhead[] }

/** A run with its timeline and with what is ahead. Throws `not_found`. */
export async function readRun(db: Db, environment: Environment, id: string): Promise<RunDetail> {
  const row = await findAutomationRun(db, environment, id)
  const [run] = (await showRuns(db, environment, [row])) as [ShownRun]
  const timeline = await timelineOfRun(db, row.number)
  const version = { environment, automation_id: row.automation_id, version: row.version }
  const steps = (await pinnedSteps(db, [version]))(version) ?? []
  const definitions = new Map(locatedSteps(steps).map(({ step }) => [step.id, step]))
  const deliveries = timeline.some(({ type }) => type === 'webhook') ? await deliveriesOfRuns(db, environment, [row.number]) : []
  const ahead = row.finished_at === null ? stepsAhead(steps, timeline, await beginOf(db, environment, row.due_at)) : []
  return {
    run,
    steps: timeline.map(step => ({
      ...step,
      definition: definitions.get(step.step_id) ?? null,
      delivery: deliveries.find(({ step_id }) => step_id === step.step_id) ?? null,
    })),
    ahead,
  }
}

/** When a step that has not begun begins: what is due begins now, at the earliest. */
async function beginOf(db: Db, environment: Environment, due: string | null): Promise<string> {
  const { rows } = await db.query<{ at: string }>({
    name: 'begin-of-next-step',
    text: `select greatest(environment_now($1), $2::timestamptz) as at`,
    values: [environment, due],
  })
  return rows[0]!.at
}

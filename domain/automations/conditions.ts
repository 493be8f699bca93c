import type { Tx } from '../../store/connect.ts'
import { checkConditions } from '../audience/segments/check.ts'
import type { Condition } from '../audience/segments/condition.ts'
import type { Environment } from '../kernel/environment.ts'
import { type Detail, Refusal } from '../kernel/refusal.ts'
import { type AutomationData, type LocatedStep, locatedSteps } from './automation-runs/definition.ts'

// Metrics that conditions of a branch may use besides those of segments.

const EVENT = 'event:'
const STEP = 'step:'

/** The field or property of the triggering event that the metric names; null for another metric. */
export const eventFieldOf = (metric: string): string | null =>
  metric.startsWith(EVENT) && metric.length > EVENT.length ? metric.slice(EVENT.length) : null
/** The step whose outcome, taken branch or status the metric names; null for another metric. */
export const stepNamedBy = (metric: string): string | null => (metric.startsWith(STEP) ? metric.slice(STEP.length) : null)

/** Whether a condition is about the user, as those of segments are, and not about the run. */
export const isAboutUser = ({ metric }: Condition): boolean => eventFieldOf(metric) === null && stepNamedBy(metric) === null

/** All conditions of all branches. */
export const conditionsIn = ({ steps }: AutomationData): Condition[] =>
  locatedSteps(steps ?? []).flatMap(({ step }) => (step.type === 'branch' ? step.conditions : []))

async function userFaults(tx: Tx, environment: Environment, conditions: Condition[], field: string): Promise<Detail[]> {
  const userConditions = [...conditions.entries()].filter(([, condition]) => isAboutUser(condition))
  try {
    await checkConditions(
      tx,
      environment,
      userConditions.map(([, condition]) => condition),
      field,
      true,
    )
    return []
  } catch (error) {
    if (!(error instanceof Refusal) || !error.details) throw error
    // The check counts the conditions about the user; the error names the index among all conditions.
    const pathOf = (text: string) => text.slice(field.length).replace(/^\[(\d+)\]/, (_, i) => `[${userConditions[Number(i)]![0]}]`)
    return error.details.map(detail => ({ ...detail, field: field + pathOf(detail.field) }))
  }
}

/** The faults in the conditions of the branches. Segments that they name cannot be deleted before the transaction ends. */
export async function conditionFaults(tx: Tx, environment: Environment, data: AutomationData): Promise<Detail[]> {
  const located = locatedSteps(data.steps ?? [])
  const ids = new Set(located.map(({ step }) => step.id))
  const faults: Detail[] = []
  for (const { step, field } of located satisfies LocatedStep[]) {
    if (step.type !== 'branch') continue
    const at = `${field}.conditions`
    for (const [i, { metric }] of step.conditions.entries()) {
      const named = stepNamedBy(metric)
      if (named !== null && !ids.has(named)) faults.push({ field: `${at}[${i}].metric`, message: 'names no step' })
    }
    faults.push(...(await userFaults(tx, environment, step.conditions, at)))
  }
  return faults
}

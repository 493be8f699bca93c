import type { Tx } from '../../store/connect.ts'
import { type AutomationData, type Placed, placedSteps } from '../automation-runs/definition.ts'
import type { Environment } from '../environment.ts'
import { type Detail, Refusal } from '../refusal.ts'
import { checkConditions } from '../segments/check.ts'
import type { Condition } from '../segments/condition.ts'

// What conditions of a branch may ask beside the metrics of segments.

const EVENT = 'event:'
const STEP = 'step:'

/** The field or property of the triggering event that a condition asks for; null when it asks for something else. */
export const eventFieldOf = (metric: string): string | null =>
  metric.startsWith(EVENT) && metric.length > EVENT.length ? metric.slice(EVENT.length) : null
/** The step whose outcome, way or status a condition asks for; null when it asks for something else. */
export const stepNamedBy = (metric: string): string | null => (metric.startsWith(STEP) ? metric.slice(STEP.length) : null)

/** Conditions about the user alone: those of the run itself are not for segments. */
export const asksOfUser = ({ metric }: Condition): boolean => eventFieldOf(metric) === null && stepNamedBy(metric) === null

/** All conditions of all branches. */
export const conditionsIn = ({ steps }: AutomationData): Condition[] =>
  placedSteps(steps ?? []).flatMap(({ step }) => (step.type === 'branch' ? step.conditions : []))

async function userFaults(tx: Tx, environment: Environment, conditions: Condition[], field: string): Promise<Detail[]> {
  const asked = [...conditions.entries()].filter(([, condition]) => asksOfUser(condition))
  try {
    await checkConditions(
      tx,
      environment,
      asked.map(([, condition]) => condition),
      field,
      true,
    )
    return []
  } catch (error) {
    if (!(error instanceof Refusal) || !error.details) throw error
    // Counted among those that are about the user; named by their place among all.
    const placeOf = (text: string) => text.slice(field.length).replace(/^\[(\d+)\]/, (_, i) => `[${asked[Number(i)]![0]}]`)
    return error.details.map(detail => ({ ...detail, field: field + placeOf(detail.field) }))
  }
}

/** What is wrong with the conditions of the branches. Segments that they name cannot be deleted before the transaction ends. */
export async function conditionFaults(tx: Tx, environment: Environment, data: AutomationData): Promise<Detail[]> {
  const placed = placedSteps(data.steps ?? [])
  const ids = new Set(placed.map(({ step }) => step.id))
  const faults: Detail[] = []
  for (const { step, field } of placed satisfies Placed[]) {
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

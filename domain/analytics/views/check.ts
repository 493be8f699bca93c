import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Detail, invalidField, invalidFields, Refusal } from '../../kernel/refusal.ts'
import { rulesOf } from '../figures/attributes.ts'
import { chartOf } from '../figures/chart-table.ts'
import { type CohortQuery, type LtvQuery, readCohortQuestion, readLtvQuestion } from '../figures/cohorts/question.ts'
import { type CommonQuery, queryContext, readQuestion, windowFaults } from '../figures/question.ts'
import { longestWindow, type ViewRange } from './range.ts'

/** The parameters of an operation with their defaults, by the kind of view that it answers. */
export type RequestedView =
  | { kind: 'chart'; code: string; query: CommonQuery }
  | { kind: 'cohorts'; query: CohortQuery }
  | { kind: 'ltv'; query: LtvQuery }

/** Of a view, the range has another name than the parameters that it stands for. */
const WINDOW_FIELDS = ['from', 'to', 'cohort_from', 'cohort_to']

/** The faults that `read` throws, by the names that they have in a view. */
function faultsOf(read: () => unknown): Detail[] {
  try {
    read()
    return []
  } catch (error) {
    if (!(error instanceof Refusal) || !error.details) throw error
    return error.details
      .filter(({ field }) => !WINDOW_FIELDS.includes(field))
      .map(({ field, message }) => ({ field: `query.${field}`, message }))
  }
}

/**
 * Throws `invalid_data` with every fault for which the operation would refuse the question, now or when the range is as long as it can be.
 * `own`: the number of the environment in the API of figures.
 */
export async function checkView(db: Db, environment: Environment, requested: RequestedView, range: ViewRange, own: 0 | 1): Promise<void> {
  const context = await queryContext(db, environment, requested.query.currency ?? 'USD')
  const { from, to } = longestWindow(range, context.now)
  const faults = windowFaults({ from, to }, 'range.to', 'range.from')
  switch (requested.kind) {
    case 'chart': {
      const chart = chartOf(requested.code)
      if (!chart) throw invalidFields([{ field: 'code', message: 'is no chart' }, ...faults])
      const rules = { ...rulesOf(chart), own }
      faults.push(...faultsOf(() => readQuestion({ ...requested.query, from, to }, rules, context)))
      break
    }
    case 'cohorts':
      faults.push(...faultsOf(() => readCohortQuestion({ ...requested.query, cohort_from: from, cohort_to: to }, { ...context, own })))
      break
    case 'ltv':
      faults.push(...faultsOf(() => readLtvQuestion({ ...requested.query, cohort_from: from, cohort_to: to }, { ...context, own })))
      break
    default:
      requested satisfies never
  }
  if (faults.length > 0) throw invalidFields(faults)
}

/** A query string, the line of the request and its headers have 16 KiB together. */
const MAX_SEARCH = 8_192

/** Throws `invalid_data` for a query that does not fit into the address of a request. */
export function checkLength(query: object): void {
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, String(one)])),
  )
  if (search.toString().length > MAX_SEARCH) throw invalidField('query', `must have at most ${MAX_SEARCH} characters as a query string`)
}

import { type Detail, invalidFields } from '../../../kernel/refusal.ts'
import { COHORT_DAYS } from '../../facts/anchors.ts'
import type { TimeWindow } from '../buckets.ts'
import type { QueryContext } from '../question.ts'
import { type CohortQuery, type CohortQuestion, LAST_RENEWAL, readCohortQuestion } from './question.ts'

/** The figures of a cell that count somebody. */
export type CountedMetric = 'users' | 'payers' | 'subscriptions'

/** The parameters of cohorts, and which of their cells is meant. */
export type CellQuery = CohortQuery & {
  cohort?: number | undefined
  period?: number | undefined
  segment_code?: string | undefined
  metric: CountedMetric
}

/**
 * A figure of a cell. `cohort`: when its anchors lie; of the total, in the whole range. `period`: its index, from 1; null: of users, who are those of
 * the row. `segment`: the code of one of the values by which the question segments; null: all of them.
 */
export type RequestedCell = {
  question: CohortQuestion
  cohort: TimeWindow
  segment: string | null
} & ({ metric: 'users'; period: null } | { metric: Exclude<CountedMetric, 'users'>; period: number })

function requestedCohort({ starts, range }: CohortQuestion, start: number | undefined): TimeWindow | null {
  if (start === undefined) return range
  const i = starts.indexOf(start)
  return i < 0 ? null : { from: start, to: starts[i + 1] ?? range.to }
}

/** The cell that a query means. Throws `invalid_data` with every fault of the cell, or of the question. */
export function readCell(query: CellQuery, context: QueryContext & { own: 0 | 1 }): RequestedCell {
  const question = readCohortQuestion(query, context)
  const { metric, period = null, segment_code: segment = null } = query
  const faults: Detail[] = []
  const cohort = requestedCohort(question, query.cohort)
  if (cohort === null) faults.push({ field: 'cohort', message: 'must be the start of a cohort of this grouping, as its row shows it' })
  const last = question.mode === 'by_days' ? COHORT_DAYS.length : LAST_RENEWAL
  if (period !== null && period > last) faults.push({ field: 'period', message: `must be at most ${last} in this mode` })
  if (period === null && metric !== 'users') faults.push({ field: 'period', message: `is needed for ${metric}` })
  if (segment !== null && question.segment === null) faults.push({ field: 'segment_code', message: 'needs segment' })
  if (cohort === null || faults.length > 0) throw invalidFields(faults)
  const common = { question, cohort, segment }
  return metric === 'users' ? { ...common, metric, period: null } : { ...common, metric, period: period! }
}

import { type Detail, invalidFields } from '../../../kernel/refusal.ts'
import { ATTRIBUTES, type Attribute, isColumn, rulesOf } from '../attributes.ts'
import { type ChartOf, chartOf } from '../chart-table.ts'
import { attributeFaults, type CommonQuery, type FigureQuestion, type QueryContext, readQuestion } from '../question.ts'

const ALL: readonly Attribute[] = ATTRIBUTES
/** What some chart has. */
const ANY = { filters: ALL, segmentations: ALL.filter(isColumn) }

/** Charts to be computed together. `leftOut`: charts that lack a filter or the segmentation of the question, with the faults. */
export type ChartsQuestion = {
  question: FigureQuestion
  charts: { code: string; chart: ChartOf }[]
  leftOut: { code: string; details: Detail[] }[]
}

/**
 * One question for several charts. A filter that a chart does not have leaves that chart out: the others are answered, because an overview that is
 * filtered by product still has its sales. Throws `invalid_data` with every fault that all charts have.
 */
export function readChartsQuestion(query: CommonQuery & { 'codes[]': string[] }, own: 0 | 1, context: QueryContext): ChartsQuestion {
  const codes = query['codes[]']
  const found = codes.map(code => ({ code, chart: chartOf(code) }))
  const unknown = found.filter(({ chart }) => !chart)
  if (unknown.length > 0)
    throw invalidFields([{ field: 'codes[]', message: `must be codes of charts: ${unknown.map(({ code }) => code).join(', ')} is none` }])
  const question = readQuestion(query, { ...ANY, own }, context)
  const asked = found.map(({ code, chart }) => ({ code, chart: chart!, details: attributeFaults(query, rulesOf(chart!)) }))
  return {
    question,
    charts: asked.filter(({ details }) => details.length === 0),
    leftOut: asked.filter(({ details }) => details.length > 0).map(({ code, details }) => ({ code, details })),
  }
}

import type { Db } from '../../../store/connect.ts'
import { attributeOf, rulesOf } from '../../analytics/figures/attributes.ts'
import type { TimeWindow } from '../../analytics/figures/buckets.ts'
import { type ChartOf, chartOf } from '../../analytics/figures/chart-table.ts'
import type { AskedChart } from '../../analytics/figures/charts/answer.ts'
import { type CommonQuery, type QueryContext, queryContext, readQuestion } from '../../analytics/figures/question.ts'
import { findView } from '../../analytics/views/view.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Detail, invalidField, invalidFields, notFound, Refusal } from '../../kernel/refusal.ts'
import { OF_CHARTS } from '../exports/export.ts'
import { type ReportChart, unitFault, unitOfDays } from './chart-window.ts'
import type { ReportInput, ReportRow } from './report.ts'

/** With more series a picture is not read any more: so many, and the rest as one. */
const MOST_SERIES = 11
const DAY = 86_400

/** The parameters that the schedule decides. */
const DECIDED = ['from', 'to', 'timezone', 'previous', 'fresh', 'environment']

/** Where and when the charts of a report are asked. `own`: the number of the environment in the API of figures. */
export type ChartsTime = { window: TimeWindow; days: number; zone: string; own: 0 | 1 }

const currencyOf = ({ query }: ReportChart): string => (typeof query.currency === 'string' ? query.currency : 'USD')

/** The question of a chart of a report. Throws `invalid_data`. */
function askedOf({ code, query }: ReportChart, chart: ChartOf, { window, days, zone, own }: ChartsTime, context: QueryContext): AskedChart {
  const { max_series: most, ...rest } = query as CommonQuery
  const given = {
    ...rest,
    ...window,
    unit: unitOfDays(days, query.unit),
    timezone: zone,
    environment: own,
    max_series: Math.min(MOST_SERIES, most === undefined ? MOST_SERIES : Number(most)),
    // The window before is drawn and told; everything recorded up to now counts.
    previous: true,
    fresh: true,
  }
  return { chart, code, own, question: readQuestion(given, { ...rulesOf(chart), own }, context) }
}

/** The questions of the charts of a report, all with the same now. Throws `invalid_data`. */
export async function askedCharts(
  db: Db,
  environment: Environment,
  charts: readonly ReportChart[],
  asked: ChartsTime,
): Promise<AskedChart[]> {
  const contexts = new Map<string, QueryContext>()
  for (const currency of new Set(charts.map(currencyOf))) contexts.set(currency, await queryContext(db, environment, currency))
  const now = contexts.values().next().value?.now ?? 0
  return charts.map(chart => {
    const found = chartOf(chart.code)
    if (!found) throw invalidField('code', `must be the code of a chart: ${chart.code} is none`)
    return askedOf(chart, found, asked, { ...contexts.get(currencyOf(chart))!, now })
  })
}

/** What a chart is called: its view's name, or its title and what it is divided by. */
export function titleOf({ code, query, name }: ReportChart): string {
  if (name !== null) return name
  const by = typeof query.segmentation === 'string' ? attributeOf(query.segmentation) : undefined
  return `${chartOf(code)?.title ?? code}${by ? ` by ${by.label.toLowerCase()}` : ''}`
}

/** The filters of a chart in words. */
export const filterTexts = ({ query }: ReportChart): string[] =>
  Object.entries(query).flatMap(([name, values]) => {
    const code = /^filter\[(.*)\]\[\]$/.exec(name)?.[1]
    return code === undefined ? [] : [`${attributeOf(code)?.label ?? code}: ${[values].flat().join(', ')}`]
  })

async function faultsOf(db: Db, environment: Environment, chart: ReportChart, asked: ChartsTime, at: string): Promise<Detail[]> {
  const decided = DECIDED.filter(name => name in chart.query).map(name => ({
    field: `${at}.query.${name}`,
    message: 'is what the schedule decides',
  }))
  const unit = unitFault(asked.days, chart.query.unit)
  if (unit !== null) decided.push({ field: `${at}.query.unit`, message: unit })
  try {
    await askedCharts(db, environment, [chart], asked)
    return decided
  } catch (error) {
    if (!(error instanceof Refusal) || !error.details) throw error
    return [
      ...decided,
      ...error.details.map(({ field, message }) => ({ field: `${at}.${field === 'code' ? field : `query.${field}`}`, message })),
    ]
  }
}

const EITHER = 'must be given, or view_id, and not both'

/**
 * The charts that a report keeps; empty unless it is of charts. With a view they are a copy of its question, which is asked when the view is deleted.
 * Throws `invalid_data` with every fault, `not_found` for a view that is not there, unless the report has named it before.
 */
export async function chartsToKeep(
  db: Db,
  environment: Environment,
  input: ReportInput,
  own: 0 | 1,
  before: ReportRow | null = null,
): Promise<ReportChart[]> {
  if (input.type !== OF_CHARTS) return []
  if ((input.charts.length === 0) === (input.view_id === null)) throw invalidField('charts', EITHER)
  if (input.view_id !== null) {
    const view = await findView(db, environment, input.view_id)
    if (!view && before?.view_id === input.view_id) return before.charts
    if (!view) throw notFound('view_id: view')
    if (view.kind !== 'chart') throw invalidField('view_id', 'must be a view of the kind chart')
    return [{ code: view.code!, query: view.query, name: view.name }]
  }
  const days = input.included_range_days
  const asked = { window: { from: 0, to: days * DAY }, days, zone: input.timezone, own }
  const faults: Detail[] = []
  for (const [i, chart] of input.charts.entries()) faults.push(...(await faultsOf(db, environment, chart, asked, `charts[${i}]`)))
  if (faults.length > 0) throw invalidFields(faults)
  return input.charts
}

import type { Pool } from '../../../store/connect.ts'
import type { BucketUnit } from '../../analytics/figures/buckets.ts'
import type { ChartMeasure } from '../../analytics/figures/chart-table.ts'
import { type ShownChart, shownChart } from '../../analytics/figures/charts/answer.ts'
import { figuresAtOnce } from '../../analytics/figures/charts/chart.ts'
import type { FactAccess } from '../../analytics/figures/open-source.ts'
import type { Environment } from '../../kernel/environment.ts'
import { invalidField } from '../../kernel/refusal.ts'
import { askedCharts, filterTexts, titleOf } from './chart-questions.ts'
import type { ReportChart } from './chart-window.ts'

/** What a run of charts is made of, fixed when it begins. `window`: Unix seconds; `days`: its whole days in the zone. */
export type ChartsOfRun = {
  file: string
  format: 'csv' | 'html'
  formulaGuard: boolean
  name: string
  zone: string
  days: number
  window: { from: number; to: number }
  kind: 'production' | 'sandbox'
  project: string
  viewId: string | null
  charts: ReportChart[]
}

/** A chart of a report with its answer, as the API gives it at the same moment to the same question. */
export type ReportFigure = { title: string; filters: string[]; query: Record<string, unknown>; answer: ShownChart }
/** From which the file, the pictures and the words of a run are made. Unix seconds. */
export type ReportFigures = { asOf: number; zone: string; figures: ReportFigure[] }

/**
 * The figures of a run, all from the facts of one moment. `folded`: everything recorded before that time (Unix seconds) is among the facts; what was recorded
 * since may not be, where much is.
 */
export async function reportFigures(
  { pool, access }: { pool: Pool; access: FactAccess },
  environment: Environment,
  { charts, window, days, zone, kind }: ChartsOfRun,
  folded: number,
): Promise<ReportFigures> {
  const asked = await askedCharts(pool, environment, charts, { window, days, zone, own: kind === 'production' ? 1 : 0 })
  const found = await figuresAtOnce(access, environment, asked, true)
  if (!found) throw invalidField('charts', 'have too many points together')
  const figures = asked.map((one, i) => {
    const chart = charts[i]!
    return { title: titleOf(chart), filters: filterTexts(chart), query: chart.query, answer: shownChart(found[i]!, one) }
  })
  const { asOf, behind } = found[0]!
  return { asOf: behind > 0 ? Math.min(folded, asOf) : asOf, zone, figures }
}

/** The series that all others are parts of, or the only one; null: the series stand beside each other. */
export const wholeOf = ({ summarySeries, series }: ShownChart) => summarySeries ?? (series.length === 1 ? series[0]! : null)

/**
 * The figure of the window and the one before. Of a chart that follows starts to their outcomes, those of the part whose outcomes are known.
 * `until`: the end of that part, where it is shorter than the window. `isMoving`: time alone can still change the figure.
 */
export type Headline = { now: number; before: number; until: number | null; isMoving: boolean }

export function headlineOf(answer: ShownChart): Headline | null {
  const whole = wholeOf(answer)
  if (whole === null) return null
  const complete = answer.complete ?? whole.complete
  if (complete && complete.to > answer.from)
    return { now: complete.total, before: complete.totalPrev, until: complete.to < answer.to ? complete.to : null, isMoving: false }
  const isOpen = answer.incomplete_from !== null && answer.incomplete_from < answer.to
  return { now: whole.total, before: whole.totalPrev, until: null, isMoving: complete !== undefined || isOpen }
}

/** A chart of a run, as the API shows it. */
export type RunChart = {
  code: string
  title: string
  query: Record<string, unknown>
  unit: BucketUnit
  measure: ChartMeasure
  currency: string
  total_type: string
  total: number | null
  total_previous: number | null
  complete_until: string | null
  still_moving: boolean
  series: { label: string; total: number; total_previous: number }[]
}

const isoOf = (second: number) => `${new Date(second * 1_000).toISOString().slice(0, 19)}Z`

export const runCharts = ({ figures }: ReportFigures): RunChart[] =>
  figures.map(({ title, query, answer }) => {
    const headline = headlineOf(answer)
    return {
      code: answer.code,
      title,
      query,
      unit: answer.unit,
      measure: answer.measure,
      currency: answer.currency,
      total_type: answer.totalType,
      total: headline?.now ?? null,
      total_previous: headline?.before ?? null,
      complete_until: headline?.until ? isoOf(headline.until) : null,
      still_moving: headline?.isMoving ?? false,
      series: answer.series.map(({ label, total, totalPrev }) => ({ label, total, total_previous: totalPrev })),
    }
  })

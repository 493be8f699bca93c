import type { AnalyticsAnnotation, AnalyticsChart, AnalyticsSeries } from '../../../../clients/typescript/src/index.ts'
import type { Line, Note, Picture } from '../../chart/picture.ts'
import type { Question } from './question.ts'

export type Noted = AnalyticsAnnotation & { letter: string }

const A = 65
const LETTERS = 26

/** A, B, … Z, AA: by time. */
export const letterOf = (at: number): string =>
  (at >= LETTERS ? String.fromCharCode(A + Math.floor(at / LETTERS) - 1) : '') + String.fromCharCode(A + (at % LETTERS))

export const lettered = (annotations: readonly AnalyticsAnnotation[]): Noted[] =>
  annotations.toSorted((a, b) => a.at - b.at).map((annotation, at) => ({ ...annotation, letter: letterOf(at) }))

/** The whole: what the answer gives for all series together, or its only one. Some charts have none. */
export const wholeOf = (chart: AnalyticsChart): AnalyticsSeries | undefined =>
  chart.summarySeries ?? (chart.series.length === 1 ? chart.series[0] : undefined)

/** The points that give the buckets: every series has the same. */
export const pointsOf = (chart: AnalyticsChart) => (chart.series[0] ?? chart.summarySeries)?.data ?? []

/** The start of the first bucket that may still change by time alone; else of the last one, where it is not over. */
export function openFrom(chart: AnalyticsChart): number | null {
  const last = pointsOf(chart).at(-1)
  return chart.incomplete_from ?? (last?.partial ? last.start_time : null)
}

export function pictureOf(
  chart: AnalyticsChart,
  { search, zone, comparing, meta }: Question,
  hidden: ReadonlySet<string>,
  notes: readonly Note[],
): Picture {
  const lines = chart.series.length > 0 ? chart.series : chart.summarySeries ? [chart.summarySeries] : []
  return {
    lines: lines.map(
      ({ label, data, dataPrev }): Line => ({
        label,
        values: data.map(({ value }) => value),
        ...(dataPrev && { previous: dataPrev.map(({ value }) => value) }),
      }),
    ),
    starts: pointsOf(chart).map(({ start_time }) => start_time),
    kind: kindOf(search.type, meta?.type_default),
    stacked: chart.seriesRelation === 'partsOfWhole',
    measure: chart.measure,
    currency: chart.currency,
    unit: chart.unit,
    zone,
    openFrom: openFrom(chart),
    hidden,
    comparing,
    notes,
  }
}

export function kindOf(wanted: string | undefined, usual: Picture['kind'] = 'line'): Picture['kind'] {
  return wanted === 'line' || wanted === 'column' || wanted === 'area' ? wanted : usual
}

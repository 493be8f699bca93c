import type { AnalyticsAnnotation, AnalyticsChart, AnalyticsSeries } from '../../../../clients/typescript/src/index.ts'
import { type Picture, USUAL_KIND } from '../../chart/picture.ts'

export type Noted = AnalyticsAnnotation & { letter: string }

const A = 65
const LETTERS = 26

/** A, B, … Z, AA: by time. */
const letterOf = (at: number): string =>
  (at >= LETTERS ? String.fromCharCode(A + Math.floor(at / LETTERS) - 1) : '') + String.fromCharCode(A + (at % LETTERS))

export const lettered = (annotations: readonly AnalyticsAnnotation[]): Noted[] =>
  annotations.toSorted((a, b) => a.at - b.at).map((annotation, at) => ({ ...annotation, letter: letterOf(at) }))

/** The whole: what the answer gives for all series together, or its only one. Some charts have none. */
export const wholeOf = (chart: AnalyticsChart): AnalyticsSeries | undefined =>
  chart.summarySeries ?? (chart.series.length === 1 ? chart.series[0] : undefined)

/** Whether the period before can be drawn: that of the only series, or of a whole whose parts stand on each other. */
export const comparable = (chart: AnalyticsChart): boolean =>
  chart.series.length <= 1 || (chart.seriesRelation === 'partsOfWhole' && chart.summarySeries !== undefined)

/** The points that give the buckets: every series has the same. */
export const pointsOf = (chart: AnalyticsChart) => (chart.series[0] ?? chart.summarySeries)?.data ?? []

/** As the address wants it, else as is usual. */
export function kindOf(wanted: string | undefined, { totalType }: Pick<AnalyticsChart, 'totalType'>): Picture['kind'] {
  return wanted === 'line' || wanted === 'column' || wanted === 'area' ? wanted : USUAL_KIND[totalType]
}

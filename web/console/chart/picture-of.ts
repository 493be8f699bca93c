import type { AnalyticsChart } from '../../../clients/typescript/src/index.ts'
import type { Picture } from './picture.ts'

/** How the page wants to see a chart. */
export type Look = Pick<Picture, 'kind' | 'zone'> & Partial<Pick<Picture, 'hidden' | 'comparing' | 'notes'>>

/** The picture of an answer. Keep it with `useMemo`. */
export function pictureOf(chart: AnalyticsChart, look: Look): Picture {
  const first = chart.series[0] ?? chart.summarySeries
  return {
    ...look,
    lines: (chart.series.length > 0 || first === undefined ? chart.series : [first]).map(series => ({
      label: series.label,
      values: series.data.map(({ value }) => value),
      ...(series.dataPrev && { previous: series.dataPrev.map(({ value }) => value) }),
    })),
    ...(chart.summarySeries?.dataPrev && { before: chart.summarySeries.dataPrev.map(({ value }) => value) }),
    starts: first?.data.map(point => point.start_time) ?? [],
    stacked: chart.seriesRelation === 'partsOfWhole',
    measure: chart.measure,
    currency: chart.currency,
    unit: chart.unit,
    openFrom: openFromOf(chart),
  }
}

/** The start of the first bucket that is not complete: time alone can still change it, or the end of the range cuts it. */
export function openFromOf(chart: AnalyticsChart): number | null {
  const last = (chart.summarySeries ?? chart.series[0])?.data.at(-1)
  const cut = last?.partial ? last.start_time : null
  if (chart.incomplete_from === null) return cut
  return cut === null ? chart.incomplete_from : Math.min(cut, chart.incomplete_from)
}

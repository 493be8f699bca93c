import type { AnalyticsChart } from '../../../clients/typescript/src/index.ts'
import type { Picture } from './picture.ts'

type Point = AnalyticsChart['series'][number]['data'][number] & { partial?: boolean }

/** How the page wants to see a chart. */
export type Look = Pick<Picture, 'kind' | 'zone'> & Partial<Pick<Picture, 'hidden' | 'comparing' | 'notes'>>

/** The picture of an answer. Keep it with `useMemo`. */
export function pictureOf(chart: AnalyticsChart, look: Look): Picture {
  const first = chart.series[0] ?? chart.summarySeries
  return {
    ...look,
    lines: chart.series.map(series => ({
      label: series.label,
      values: series.data.map(({ value }) => value),
      ...(series.dataPrev && { previous: series.dataPrev.map(({ value }) => value) }),
    })),
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
  const points = (chart.summarySeries ?? chart.series[0])?.data as readonly Point[] | undefined
  const last = points?.at(-1)
  const cut = last && (last.partial ?? isNow(chart)) ? last.start_time : null
  if (chart.incomplete_from === null) return cut
  return cut === null ? chart.incomplete_from : Math.min(cut, chart.incomplete_from)
}

/** A range that ends at most two minutes before the answer ends now, in the middle of its last bucket. */
const isNow = ({ to, as_of }: AnalyticsChart) => to > as_of - 120

import type { AnalyticsChart } from '../../../../clients/typescript/src/index.ts'
import { openFromOf } from '../../chart/picture-of.ts'

/** What a tile shows, out of the answer of its chart; nothing in it is computed here. */
export type TileFigures = {
  now: number
  before: number
  values: number[]
  previous: number[] | undefined
  /** The first value that is not complete. */
  open: number
  level: boolean
  /** Unix second until which a ratio compares what had the time to happen. */
  until: number | undefined
  moving: boolean
}

export function figuresOf(chart: AnalyticsChart): TileFigures | undefined {
  const series = chart.summarySeries ?? chart.series[0]
  if (series === undefined) return undefined
  const starts = series.data.map(point => point.start_time)
  const openFrom = openFromOf(chart)
  const open = openFrom === null ? -1 : starts.findIndex(start => start >= openFrom)
  const known = series.complete !== undefined && series.complete.to > chart.from ? series.complete : undefined
  return {
    now: known?.total ?? series.total,
    before: known?.totalPrev ?? series.totalPrev,
    values: series.data.map(point => point.value),
    previous: series.dataPrev?.map(point => point.value),
    open: open < 0 ? starts.length : open,
    level: chart.totalType === 'last',
    until: known !== undefined && known.to < chart.to ? known.to : undefined,
    moving: series.complete !== undefined && known === undefined,
  }
}

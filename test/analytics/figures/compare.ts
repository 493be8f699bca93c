import type { AnsweredSeries, chartAnswer } from '../../oracle/answer.ts'

/** A series with nothing in it may be left out. */
const isBlank = (series: AnsweredSeries): boolean =>
  [series.total, series.totalPrev, series.totalWeight ?? 0, series.totalPrevWeight ?? 0, ...series.data.map(point => point.value)].every(
    value => value === 0,
  )

type Answer = ReturnType<typeof chartAnswer>

/** What must be equal, whatever else an answer says. */
export function essence(answer: Answer, isSegmented: boolean) {
  const line = ({ label, total, totalPrev, data, dataPrev, complete, totalWeight, totalPrevWeight }: AnsweredSeries) => ({
    label,
    total,
    totalPrev,
    data,
    ...(dataPrev && { dataPrev }),
    ...(complete && { complete }),
    ...(totalWeight !== undefined && { totalWeight, totalPrevWeight }),
  })
  return {
    measure: answer.measure,
    totalType: answer.totalType,
    seriesRelation: answer.seriesRelation,
    series: answer.series.filter(series => !isSegmented || !isBlank(series)).map(line),
    summarySeries: answer.summarySeries && line(answer.summarySeries),
    unconverted: answer.unconverted?.map(one => one.currency),
  }
}

import { useMemo } from 'react'
import type { AnalyticsLtv } from '../../../../clients/typescript/src/index.ts'
import { Chart } from '../../chart/chart.tsx'
import { swatchOf } from '../../chart/palette.ts'
import type { Picture } from '../../chart/picture.ts'
import { figure } from '../../parts/format.ts'
import { counted, t } from '../../parts/t.ts'
import type { Question } from './question.ts'
import { METRIC_TEXTS } from './texts.ts'

/** With more lines a chart is not read any more. */
const MOST = 12

/** The value over the days: what everybody had the time for as a line, the rest dashed; the cost as a line across. */
export default function Curve({ ltv, question: { metric, cost } }: { ltv: AnalyticsLtv; question: Question }) {
  const drawn = useMemo(
    () => (ltv.segments.length > 0 ? ltv.segments.slice(0, MOST) : [{ code: '', label: t(METRIC_TEXTS[metric]), series: ltv.series }]),
    [ltv, metric],
  )
  const picture = useMemo((): Picture => {
    const open = ltv.series.findIndex(({ is_complete }) => !is_complete)
    return {
      lines: drawn.map(({ label, series }) => ({ label, values: ltv.series.map((_, at) => series[at]?.[metric] ?? null) })),
      starts: ltv.series.map((_, at) => at),
      labels: ltv.series.map(({ label }) => label),
      kind: 'line',
      stacked: false,
      measure: 'usd',
      currency: ltv.currency,
      unit: 'day',
      zone: 'UTC',
      openFrom: open < 0 ? null : open,
      level:
        cost !== undefined && metric !== 'revenue'
          ? { value: cost, label: t('Cost {cost}', { cost: figure(cost, 'usd', ltv.currency) }) }
          : undefined,
    }
  }, [drawn, ltv, metric, cost])
  const last = ltv.series.at(-1)
  const complete = ltv.series.findLast(({ is_complete }) => is_complete)
  const label = t('{figure} of {n} users until {last}: {value}; {complete}', {
    figure: t(METRIC_TEXTS[metric]),
    n: ltv.cohort_users,
    last: last?.label ?? '',
    value: last ? figure(last[metric], 'usd', ltv.currency) : '',
    complete: complete ? t('complete until {label}, after that still moving', { label: complete.label }) : t('all of it is still moving'),
  })
  return (
    <>
      <Chart picture={picture} label={label} />
      {drawn.length > 1 && (
        <ul className="legend" aria-label={t('Series')}>
          {drawn.map(({ code, label: name }, at) => (
            <li key={`=${code}`} className="legend-entry" title={name.length > 30 ? name : undefined}>
              <i className={swatchOf(at)} aria-hidden="true" />
              <span className="legend-name">{name}</span>
            </li>
          ))}
        </ul>
      )}
      <p className="ltv-note">
        {complete
          ? t(
              'Solid until {label}: everybody had so many days. After that it is dotted: people who came later have not been there so long.',
              { label: complete.label },
            )
          : t('Dotted: somebody of the range has not even had the first day. A range that is over shows more.')}
        {ltv.segments.length > MOST &&
          ` ${counted(ltv.segments.length - MOST, '{n} more value is in the table.', '{n} more values are in the table.')}`}
      </p>
    </>
  )
}

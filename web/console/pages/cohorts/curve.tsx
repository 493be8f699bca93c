import { useMemo } from 'react'
import { Chart } from '../../chart/chart.tsx'
import { swatchOf } from '../../chart/palette.ts'
import type { Picture } from '../../chart/picture.ts'
import { t } from '../../parts/t.ts'
import { METRIC_TEXTS, METRICS_OF_MONEY, type Row } from './cells.ts'
import type { Question } from './question.ts'

/** With more lines a chart is not read any more. */
const MOST = 12

/** A line for each row over the periods: the total and the latest cohorts. */
export default function Curve({
  rows,
  labels,
  question: { metric },
  currency,
}: {
  rows: readonly Row[]
  labels: readonly string[]
  question: Question
  currency: string
}) {
  const drawn = useMemo(() => {
    const totals = rows.filter(({ isTotal }) => isTotal)
    const others = rows.filter(({ isTotal }) => !isTotal)
    const latest = others.some(({ from }) => from !== undefined)
      ? others.slice(-(MOST - totals.length))
      : others.slice(0, MOST - totals.length)
    return [...totals, ...latest]
  }, [rows])
  const picture = useMemo(
    (): Picture => ({
      lines: drawn.map(({ label, cells }) => ({
        label,
        values: labels.map((_, at) => (cells[at]?.moving && at > 0 ? null : (cells[at]?.value ?? null))),
      })),
      starts: labels.map((_, at) => at),
      labels,
      kind: 'line',
      stacked: false,
      measure: metric === 'share' ? 'percent' : METRICS_OF_MONEY.has(metric) ? 'usd' : 'count',
      currency,
      unit: 'month',
      zone: 'UTC',
    }),
    [drawn, labels, metric, currency],
  )
  return (
    <div className="curve">
      <Chart
        picture={picture}
        label={t('{figure} of {n} rows over the periods, as far as time alone changes little', {
          figure: t(METRIC_TEXTS[metric]),
          n: drawn.length,
        })}
      />
      <ul className="legend" aria-label={t('Series')}>
        {drawn.map(({ key, label }, at) => (
          <li key={key} className="legend-entry">
            <i className={swatchOf(at)} aria-hidden="true" />
            {label}
          </li>
        ))}
      </ul>
      {drawn.length < rows.length && (
        <p className="soft">{t('The {n} rows that are not drawn are in the table.', { n: rows.length - drawn.length })}</p>
      )}
    </div>
  )
}

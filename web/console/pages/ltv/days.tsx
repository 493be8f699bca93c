import { useState } from 'react'
import type { AnalyticsLtv, AnalyticsLtvPoint, AnalyticsLtvSegment } from '../../../../clients/typescript/src/index.ts'
import { Card } from '../../parts/card.tsx'
import { figure } from '../../parts/format.ts'
import { t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import type { Question } from './question.ts'
import { METRIC_TEXTS } from './texts.ts'

/** Days that people ask for. */
const KEY = new Set([0, 1, 3, 7, 14, 30, 60, 90, 120, 180, 270, 365, 540, 730])

/** The same numbers as a table: of a split, a row for each value. */
export default function Days({ ltv, question }: { ltv: AnalyticsLtv; question: Question }) {
  const [all, setAll] = useState(false)
  const { mode, metric } = question
  const points = mode === 'by_renewals' ? ltv.series : ltv.series.filter(({ index }) => all || KEY.has(index))
  return (
    <Card
      flush
      className="ltv-table"
      title={ltv.segments.length > 0 ? t('{figure}, by value', { figure: t(METRIC_TEXTS[metric]) }) : t('The same numbers as a table')}
      right={
        mode === 'by_days' && ltv.segments.length === 0 ? (
          <button type="button" className="chip small" aria-pressed={all} onClick={() => setAll(!all)}>
            {all ? t('Some days') : t('Every day')}
          </button>
        ) : undefined
      }
    >
      {ltv.segments.length > 0 ? <Segments ltv={ltv} points={points} metric={metric} /> : <Points ltv={ltv} points={points} mode={mode} />}
    </Card>
  )
}

function Points({ ltv, points, mode }: { ltv: AnalyticsLtv; points: readonly AnalyticsLtvPoint[]; mode: Question['mode'] }) {
  const money = (value: number) => figure(value, 'usd', ltv.currency)
  const columns: Column<AnalyticsLtvPoint>[] = [
    {
      key: 'label',
      head: mode === 'by_days' ? t('Until day') : t('Until period'),
      cell: ({ label, is_complete }) => (
        <span className="nowrap">
          {label}
          {!is_complete && <span className="soft"> · {t('still moving')}</span>}
        </span>
      ),
    },
    { key: 'arpu', head: t('Per user'), figures: true, cell: ({ arpu }) => money(arpu) },
    { key: 'arppu', head: t('Per paying user'), figures: true, cell: ({ arppu }) => money(arppu) },
    { key: 'revenue', head: t('Revenue'), figures: true, cell: ({ revenue }) => money(revenue) },
  ]
  return <Table caption={t('Lifetime value')} columns={columns} rows={points} rowKey={({ index }) => String(index)} />
}

function Segments({ ltv, points, metric }: { ltv: AnalyticsLtv; points: readonly AnalyticsLtvPoint[]; metric: Question['metric'] }) {
  const money = (value: number | undefined) => (value === undefined ? '–' : figure(value, 'usd', ltv.currency))
  const columns: Column<AnalyticsLtvSegment>[] = [
    { key: 'label', head: t('Value'), cell: ({ label }) => <span className="value-label">{label}</span> },
    { key: 'users', head: t('Users'), figures: true, cell: ({ cohort_users }) => figure(cohort_users) },
    { key: 'paying', head: t('Paying'), figures: true, cell: ({ paying_users }) => figure(paying_users) },
    ...points.map(
      ({ index, label }): Column<AnalyticsLtvSegment> => ({
        key: `p${index}`,
        head: label,
        figures: true,
        cell: ({ series }) => {
          const point = series.find(one => one.index === index)
          return <span className={point?.is_complete === false ? 'soft' : undefined}>{money(point?.[metric])}</span>
        },
      }),
    ),
  ]
  const total = [t('Total'), figure(ltv.cohort_users), figure(ltv.paying_users), ...points.map(point => money(point[metric]))]
  return (
    <Table caption={t('Lifetime value by value')} columns={columns} rows={ltv.segments} rowKey={({ code }) => `=${code}`} total={total} />
  )
}

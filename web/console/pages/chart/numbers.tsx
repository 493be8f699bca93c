import { memo, useState } from 'react'
import type { AnalyticsChart, AnalyticsPoint } from '../../../../clients/typescript/src/index.ts'
import { bucketText } from '../../chart/picture.ts'
import { openFromOf } from '../../chart/picture-of.ts'
import { useRead } from '../../data/read.ts'
import { Behind } from '../../parts/behind.tsx'
import { Card } from '../../parts/card.tsx'
import { Bars, DataState } from '../../parts/data-state.tsx'
import { bucket, figure } from '../../parts/format.ts'
import { plain, t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import type { ChartRead } from './chart-card.tsx'
import { pointsOf, wholeOf } from './picture.ts'
import type { Question } from './question.ts'

export const TOTALS = { sum: 'Total', last: 'At the end', average: 'Whole range' } as const
/** Rows of values before the rest is asked for. */
const FIRST = 50
/** Buckets before the rest is asked for: a page of 13,000 elements is slow. */
const MOST_ROWS = 100

type Props = { question: Question; read: ChartRead; onOpen: (at: number) => void }

/** The same numbers as a table: the total first, then the latest bucket. */
export function Numbers({ question, read, onOpen }: Props) {
  // A failure, and that there is nothing, are told above, where the drawing would stand.
  if (read.data === undefined ? read.isError : pointsOf(read.data).length === 0) return null
  return (
    <Card flush className="numbers">
      <DataState of={read} shape="table" rows={8}>
        {chart => (
          <Behind until={<Bars shape="table" rows={8} />}>
            <Buckets chart={chart} question={question} onOpen={onOpen} isAsking={read.isPlaceholderData && !read.isError} />
            {isCut(chart, question) && <AllValues question={question} />}
          </Behind>
        )}
      </DataState>
    </Card>
  )
}

/** Whether there are more values than series are drawn. */
export const isCut = (chart: AnalyticsChart, { split, query }: Question): boolean =>
  split !== undefined && chart.series.length > (query.max_series ?? Number.POSITIVE_INFINITY)

type Row = { point: AnalyticsPoint; at: number }

type Shown = { chart: AnalyticsChart; question: Question; onOpen: (at: number) => void; isAsking: boolean }

/** While another question is asked, the numbers of before stay as they are: to draw hundreds of cells again would keep the browser from the answer. */
const Buckets = memo(AllBuckets, (_, { isAsking }) => isAsking)

function AllBuckets({ chart, question, onOpen }: Shown) {
  const { zone, unit, comparing } = question
  const { series, measure, currency } = chart
  const whole = wholeOf(chart)
  const only = series.length === 1 ? series[0] : series.length === 0 ? whole : undefined
  const open = openFromOf(chart)
  const shown = (value: number | undefined) => (value === undefined ? '–' : figure(value, measure, currency))
  const [all, setAll] = useState(false)
  const points = pointsOf(chart)
    .map((point, at) => ({ point, at }))
    .reverse()
  const starts = pointsOf(chart).map(({ start_time }) => start_time)
  const rows = all ? points : points.slice(0, MOST_ROWS)
  const before = comparing ? (only ?? whole)?.dataPrev : undefined
  const columns: Column<Row>[] = [
    {
      key: 'bucket',
      head: t(plain(unit)),
      cell: ({ point, at }) => (
        <span className="nowrap">
          {bucketText(starts, at, unit, zone, true)}
          <State point={point} open={open} isLast={point === rows[0]?.point} unit={unit} />
        </span>
      ),
    },
    ...(only ? [only] : series).map(
      (one): Column<Row> => ({
        key: `=${one.label}`,
        head: <Head label={one.label} />,
        figures: true,
        cell: ({ at }) => shown(one.data[at]?.value),
      }),
    ),
    ...(whole && !only
      ? [{ key: 'whole', head: whole.label, figures: true, cell: ({ at }: Row) => <b>{shown(whole.data[at]?.value)}</b> }]
      : []),
    ...(before
      ? [
          {
            key: 'before',
            head: t('Before'),
            figures: true,
            cell: ({ at }: Row) => (
              <span className="soft" title={before[at] && bucket(before[at].start_time, unit, zone, true)}>
                {shown(before[at]?.value)}
              </span>
            ),
          },
        ]
      : []),
  ]
  const total = [
    t(TOTALS[chart.totalType]),
    ...(only ? [only] : series).map(one => shown(one.total)),
    ...(whole && !only ? [shown(whole.total)] : []),
    ...(before ? [shown((only ?? whole)?.totalPrev)] : []),
  ]
  return (
    <>
      <Table
        caption={t('The same numbers as a table')}
        columns={columns}
        rows={rows}
        rowKey={({ point }) => String(point.start_time)}
        onOpen={({ point }) => onOpen(point.start_time)}
        total={total}
      />
      {points.length > rows.length && (
        <button type="button" className="chip more" onClick={() => setAll(true)}>
          {t('Show all {n}', { n: points.length })}
        </button>
      )}
    </>
  )
}

const Head = ({ label }: { label: string }) => (
  <span className="head-label" title={label.length > 22 ? label : undefined}>
    {label}
  </span>
)

const HOUR = 3_600

/** What keeps a bucket from being compared with the others. */
function State({ point, open, isLast, unit }: { point: AnalyticsPoint; open: number | null; isLast: boolean; unit: string }) {
  const hours = Math.round((point.end_time - point.start_time) / HOUR)
  const says = [
    isLast && point.partial
      ? t('so far')
      : open !== null && point.start_time >= open
        ? t('still moving')
        : point.partial
          ? t('cut by the range')
          : '',
    unit === 'day' && !point.partial && hours !== 24 ? t('{n} hours: the clocks change', { n: hours }) : '',
  ].filter(Boolean)
  return says.length === 0 ? null : <span className="soft"> · {says.join(' · ')}</span>
}

/** Every value of the attribute, of which the drawing has the greatest and the rest together. */
function AllValues({ question }: { question: Question }) {
  const [all, setAll] = useState(false)
  const { code, query, split, meta } = question
  const read = useRead('v4GetAnalyticsChart', { path: { chart_code: code }, query: { ...query, max_series: 500 } }, { topics: ['facts'] })
  const label = meta?.segmentations.find(one => one.code === split)?.label ?? split ?? ''
  return (
    <div className="all-values">
      <h2 className="all-values-title">{t('Every value of {attribute}', { attribute: label.toLowerCase() })}</h2>
      <DataState of={read} shape="table" rows={6}>
        {chart => {
          const shown = (value: number) => figure(value, chart.measure, chart.currency)
          const rows = all ? chart.series : chart.series.slice(0, FIRST)
          return (
            <>
              <Table
                caption={t('Every value of {attribute}', { attribute: label })}
                columns={[
                  { key: 'label', head: label, cell: ({ label: value }) => <span className="value-label">{value}</span> },
                  { key: 'total', head: t(TOTALS[chart.totalType]), figures: true, cell: ({ total }) => shown(total) },
                  {
                    key: 'before',
                    head: t('Before'),
                    figures: true,
                    cell: ({ totalPrev }) => <span className="soft">{shown(totalPrev)}</span>,
                  },
                ]}
                rows={rows}
                rowKey={({ label: value }) => `=${value}`}
              />
              {chart.series.length > rows.length && (
                <button type="button" className="chip more" onClick={() => setAll(true)}>
                  {t('Show all {n}', { n: chart.series.length })}
                </button>
              )}
            </>
          )
        }}
      </DataState>
    </div>
  )
}

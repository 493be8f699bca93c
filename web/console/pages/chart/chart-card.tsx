import type { UseQueryResult } from '@tanstack/react-query'
import { memo, useMemo } from 'react'
import type { AnalyticsAnnotationList, AnalyticsChart } from '../../../../clients/typescript/src/index.ts'
import { Chart } from '../../chart/chart.tsx'
import { openFromOf, pictureOf } from '../../chart/picture-of.ts'
import { useAddress } from '../../data/address.ts'
import type { ApiError } from '../../data/api-error.ts'
import { titleOfChart } from '../../data/charts.ts'
import { nowHere } from '../../data/clock.ts'
import { Card } from '../../parts/card.tsx'
import { Bars, DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Fault } from '../../parts/fault.tsx'
import { hasFilters } from '../../parts/filters.tsx'
import { bucket, figure } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { curlOf } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { Unconverted } from '../../parts/unconverted.tsx'
import { Annotations } from './annotations.tsx'
import { Legend } from './legend.tsx'
import { kindOf, type Noted, pointsOf, wholeOf } from './picture.ts'
import type { Question } from './question.ts'
import { Summary } from './summary.tsx'

export type ChartRead = UseQueryResult<AnalyticsChart, ApiError>

type Props = {
  question: Question
  read: ChartRead
  annotations: UseQueryResult<AnalyticsAnnotationList, ApiError>
  notes: readonly Noted[]
  hidden: ReadonlySet<string>
  onHide: (label: string) => void
  onOpen: (at: number | 'all') => void
}

export function ChartCard({ question, read, annotations, ...props }: Props) {
  const nothing = question.range.from >= question.range.to || question.range.from > nowHere() / 1000
  return (
    <Card className="chart-panel">
      {nothing ? (
        <NothingYet question={question} />
      ) : read.data === undefined && !read.isError ? (
        <>
          <div className="summary waits" />
          <Bars shape="chart" />
        </>
      ) : (
        <DataState of={read} shape="chart" isEmpty={chart => pointsOf(chart).length === 0} empty={<NothingYet question={question} />}>
          {chart => <Drawn chart={chart} question={question} isAsking={read.isPlaceholderData && !read.isError} {...props} />}
        </DataState>
      )}
      {annotations.isError && <Fault error={annotations.error} retry={annotations.refetch} />}
    </Card>
  )
}

type DrawnProps = Pick<Props, 'question' | 'notes' | 'hidden' | 'onHide' | 'onOpen'> & { chart: AnalyticsChart; isAsking: boolean }

/** While another question is asked, the drawing stays that of the question before, with the series and the kind that one chooses meanwhile. */
const Drawn = memo(
  DrawnAnswer,
  (before, { isAsking, hidden, question }) => isAsking && before.hidden === hidden && before.question.search.type === question.search.type,
)

function DrawnAnswer({ chart, question, notes, hidden, onHide, onOpen }: DrawnProps) {
  const { search, comparing, zone } = question
  const kind = kindOf(search.type, chart)
  const picture = useMemo(() => pictureOf(chart, { kind, zone, hidden, comparing, notes }), [chart, kind, zone, hidden, comparing, notes])
  return (
    <>
      <Summary chart={chart} question={question} onOpen={() => onOpen('all')} />
      <Unconverted money={chart.unconverted} />
      {isNothing(chart) && (hasFilters(search) ? <NothingPasses /> : <NothingHappened />)}
      <Chart picture={picture} label={sentence(chart, question)} onPoint={at => onOpen(picture.starts[at]!)} />
      <Annotations notes={notes} zone={zone} />
      {picture.lines.length > 1 && <Legend chart={chart} bars={kind === 'column' || picture.stacked} hidden={hidden} onHide={onHide} />}
    </>
  )
}

const isNothing = ({ series, summarySeries }: AnalyticsChart) =>
  [...series, ...(summarySeries ? [summarySeries] : [])].every(({ total, data }) => total === 0 && data.every(({ value }) => value === 0))

/** All is zero, and the filters are why. */
function NothingPasses() {
  const [search, set] = useAddress()
  const none = Object.fromEntries(Object.keys(search).flatMap(name => (name.startsWith('f.') ? [[name, undefined]] : [])))
  return (
    <div className="notice" role="status">
      <Icon name="sliders" />
      <div>{t('Nothing in this range passes the filters.')}</div>
      <button type="button" className="chip small" onClick={() => set(none)}>
        {t('Remove the filters')}
      </button>
    </div>
  )
}

/** All is zero, because nothing happened. */
function NothingHappened() {
  const [{ range }, set] = useAddress()
  return (
    <div className="notice" role="status">
      <Icon name="chart" />
      <div>{t('Nothing that this chart counts has happened in this range.')}</div>
      {range !== '365d' && range !== '730d' && (
        <button
          type="button"
          className="chip small"
          onClick={() => set({ range: '365d', from: undefined, to: undefined, unit: undefined })}
        >
          {t('Show the last 12 months')}
        </button>
      )}
    </div>
  )
}

function NothingYet({ question: { code, query, zone } }: { question: Question }) {
  const [, set] = useAddress()
  return (
    <Empty
      icon="chart"
      title={t('Nothing to draw in this range')}
      why={t('Nothing that this chart counts has happened between {from} and {to}, with these filters.', {
        from: bucket(query.from ?? 0, 'day', zone, true),
        to: bucket((query.to ?? 1) - 1, 'day', zone, true),
      })}
      action={
        <button type="button" className="chip" onClick={() => set({ range: '365d', from: undefined, to: undefined, unit: undefined })}>
          {t('Show the last 12 months')}
        </button>
      }
      curl={curlOf('v4GetAnalyticsChart', { path: { chart_code: code }, query })}
    />
  )
}

/** The chart in a sentence, for readers. */
function sentence(chart: AnalyticsChart, { code, zone, unit }: Question): string {
  const whole = wholeOf(chart)
  const points = pointsOf(chart)
  const open = openFromOf(chart)
  const figures = whole
    ? t('{total}, before {previous}', {
        total: figure(whole.total, chart.measure, chart.currency),
        previous: figure(whole.totalPrev, chart.measure, chart.currency),
      })
    : t('{n} series', { n: chart.series.length })
  return [
    t('{title}, by {unit}, {from} to {to}: {figures}', {
      title: titleOfChart(code),
      unit,
      from: bucket(points[0]?.start_time ?? chart.from, 'day', zone, true),
      to: bucket(chart.to - 1, 'day', zone, true),
      figures,
    }),
    open !== null && t('from {day} on it is still moving', { day: bucket(open, unit, zone, true) }),
  ]
    .filter(Boolean)
    .join('; ')
}

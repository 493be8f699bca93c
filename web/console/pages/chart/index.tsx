import './chart-page.css'
import { useParams } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useMemo } from 'react'
import { joined, split, useAddress } from '../../data/address.ts'
import { titleOfChart } from '../../data/charts.ts'
import { useRead } from '../../data/read.ts'
import { Fault } from '../../parts/fault.tsx'
import { Page } from '../../parts/page.tsx'
import { Actions } from './actions.tsx'
import { ChartCard } from './chart-card.tsx'
import { Controls } from './controls.tsx'
import { Numbers } from './numbers.tsx'
import { comparable, lettered } from './picture.ts'
import { useQuestion } from './question.ts'

export { prefetch } from './question.ts'

const load = () => import('./point.tsx')
const Point = lazy(load)

/** A chart: what is asked, the drawing, the same numbers as a table, and what is behind each of them. */
export default function ChartPage() {
  const { code = '' } = useParams({ strict: false }) as { code?: string }
  const [search, set] = useAddress()
  const { question, meta, chart, input } = useQuestion(code)
  const { from, to } = question.range
  const annotations = useRead('v4ListAnalyticsAnnotations', { query: { from, to, limit: 50 } }, { when: to > from })
  const notes = useMemo(() => lettered(annotations.data?.data ?? []), [annotations.data])
  const hidden = useMemo(() => new Set(split(search.hide)), [search.hide])
  const open = (at: number | 'all') => set({ at: String(at), line: undefined }, { push: true })
  const hide = (label: string) => {
    const next = hidden.has(label) ? [...hidden].filter(other => other !== label) : [...hidden, label]
    set({ hide: joined(next) })
  }
  // Behind the chart itself, so that a click finds it loaded.
  useEffect(() => void (chart.data && load()), [chart.data])
  return (
    <Page
      wide
      title={titleOfChart(code)}
      about={<span className="chart-about">{question.meta?.description ?? ' '}</span>}
      actions={<Actions question={question} chart={chart.data} input={input} />}
    >
      <Controls
        question={question}
        money={chart.data === undefined || chart.data.measure === 'usd'}
        compares={chart.data === undefined || comparable(chart.data)}
      />
      {meta.isError && <Fault error={meta.error} retry={meta.refetch} />}
      <ChartCard question={question} read={chart} notes={notes} hidden={hidden} onHide={hide} onOpen={open} annotations={annotations} />
      <Numbers question={question} read={chart} onOpen={open} />
      <Suspense fallback={null}>{search.at && chart.data && <Point question={question} chart={chart.data} at={search.at} />}</Suspense>
    </Page>
  )
}

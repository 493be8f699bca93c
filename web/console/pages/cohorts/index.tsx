import './cohorts.css'
import { lazy, Suspense, useMemo } from 'react'
import { useAddress } from '../../data/address.ts'
import { Card } from '../../parts/card.tsx'
import { Bars, DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Freshness } from '../../parts/freshness.tsx'
import { Page } from '../../parts/page.tsx'
import { curlOf } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { Unconverted } from '../../parts/unconverted.tsx'
import { Actions } from './actions.tsx'
import { METRICS_OF_MONEY, type Row, rowsOf } from './cells.ts'
import { Controls } from './controls.tsx'
import { useQuestion } from './question.ts'
import { Triangle } from './triangle.tsx'

const CellDrawer = lazy(() => import('./cell-drawer.tsx'))
const Curve = lazy(() => import('./curve.tsx'))

/** Who began together, and what became of them in each period after. */
export default function Cohorts() {
  const [search, set] = useAddress()
  const { question, meta, read, input } = useQuestion()
  const { metric, split, value } = question
  const answer = read.data
  const rows = useMemo(() => (answer ? rowsOf(answer, metric, split, value) : []), [answer, metric, split, value])
  const open = (row: Row, index: number) => set({ at: `${row.key}:${index}`, people: undefined }, { push: true })
  const most = answer === undefined ? 0 : metric === 'share' ? 100 : answer.max_values[metric]
  return (
    <Page
      wide
      title={t('Cohorts')}
      about={t('People grouped by the time in which they began; each column is one period later. A cell opens the people in it.')}
      actions={
        <>
          <Freshness of={[answer]} />
          <Actions question={question} rows={rows} input={input} labels={answer?.period_labels ?? []} />
        </>
      }
    >
      <Controls question={question} meta={meta.data} answer={answer} />
      {meta.isError && <Fault error={meta.error} retry={meta.refetch} />}
      {METRICS_OF_MONEY.has(metric) && <Unconverted money={answer?.unconverted} />}
      <Card flush className="triangle-card">
        <DataState
          of={read}
          shape="table"
          rows={13}
          isEmpty={() => rows.every(({ users }) => users === 0)}
          empty={
            <Empty
              icon="grid"
              title={t('No cohort in this range')}
              why={t('A cohort appears in the time in which its people began: with a creation, a first trial or a first payment.')}
              action={
                <button type="button" className="chip" onClick={() => set({ range: '730d', from: undefined, to: undefined })}>
                  {t('Show the last 24 months')}
                </button>
              }
              curl={curlOf('v4GetAnalyticsCohorts', input)}
            />
          }
        >
          {shown =>
            search.as === 'curve' ? (
              <Suspense fallback={<Bars shape="chart" />}>
                <Curve rows={rows} labels={shown.period_labels} question={question} currency={shown.currency} />
              </Suspense>
            ) : (
              <Triangle rows={rows} labels={shown.period_labels} question={question} most={most} currency={shown.currency} onOpen={open} />
            )
          }
        </DataState>
      </Card>
      <p className="triangle-note">
        {search.as === 'curve'
          ? t('Lines end where time alone can still change much. ')
          : t('Hatched: the latest one, or as many may still get there as had the time. A dot: nobody is there yet. ')}
        {metric === 'share'
          ? t('A share counts the subscriptions that had the time to get there; the total leaves out what is hatched.')
          : t('The total counts only cohorts that had the time, where there are such.')}
      </p>
      <Suspense fallback={null}>
        {search.at && answer && <CellDrawer at={search.at} rows={rows} question={question} currency={answer.currency} answer={answer} />}
      </Suspense>
    </Page>
  )
}

import './ltv.css'
import { lazy, Suspense } from 'react'
import type { AnalyticsLtv } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { Figure, Percent } from '../../parts/amount.tsx'
import { Card } from '../../parts/card.tsx'
import { Bars, DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Fault } from '../../parts/fault.tsx'
import { count } from '../../parts/format.ts'
import { Freshness } from '../../parts/freshness.tsx'
import { Page } from '../../parts/page.tsx'
import { curlOf } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { Unconverted } from '../../parts/unconverted.tsx'
import { Actions } from './actions.tsx'
import { Controls } from './controls.tsx'
import { Payback } from './payback.tsx'
import { useQuestion } from './question.ts'

const Days = lazy(() => import('./days.tsx'))
const Curve = lazy(() => import('./curve.tsx'))

/** What people who came in one time have paid since, and when they have paid back what it cost to win them. */
export default function Ltv() {
  const [, set] = useAddress()
  const { question, meta, input, read, trials } = useQuestion()
  const answer = read.data
  return (
    <Page
      wide
      title={t('Lifetime value')}
      about={t('What the users who were created in the range have paid, added up by the days since each of them came.')}
      actions={
        <>
          <Freshness of={[answer]} />
          <Actions question={question} answer={answer} input={input} />
        </>
      }
    >
      <Controls question={question} meta={meta.data} />
      {meta.isError && <Fault error={meta.error} retry={meta.refetch} />}
      <Unconverted money={answer?.unconverted} />
      <div className="ltv-figures">
        <People answer={answer} />
        <section className="card ltv-figure" aria-label={t('Trials')}>
          <DataState of={trials} rows={2}>
            {({ conversion_rate, trials_started, trials_converted }) => (
              <>
                <span className="ltv-name">{t('Trials that led to a payment')}</span>
                <span className="ltv-value">{trials_started === 0 ? '–' : <Percent value={conversion_rate * 100} short />}</span>
                <span className="ltv-more">
                  {t('{converted} of {started}; running trials may follow', {
                    converted: count(trials_converted),
                    started: count(trials_started),
                  })}
                </span>
              </>
            )}
          </DataState>
        </section>
        <Payback question={question} answer={answer} />
      </div>
      <Card className="ltv-curve">
        <DataState
          of={read}
          shape="chart"
          isEmpty={({ cohort_users }) => cohort_users === 0}
          empty={
            <Empty
              icon="coins"
              title={t('Nobody came in this range')}
              why={t('A user counts from the creation on, or from the earliest event that was recorded for them.')}
              action={
                <button type="button" className="chip" onClick={() => set({ range: '365d', from: undefined, to: undefined })}>
                  {t('Show the last 12 months')}
                </button>
              }
              curl={curlOf('v4GetAnalyticsLtv', input)}
            />
          }
        >
          {ltv => (
            <Suspense fallback={<Bars shape="chart" />}>
              <Curve ltv={ltv} question={question} />
            </Suspense>
          )}
        </DataState>
      </Card>
      <Suspense fallback={<Bars shape="table" rows={12} />}>
        {answer && answer.cohort_users > 0 && <Days ltv={answer} question={question} />}
      </Suspense>
    </Page>
  )
}

function People({ answer }: { answer: AnalyticsLtv | undefined }) {
  return (
    <section className="card ltv-figure" aria-label={t('Users')}>
      <span className="ltv-name">{t('Users who came')}</span>
      <span className="ltv-value">{answer ? <Figure value={answer.cohort_users} /> : ' '}</span>
      <span className="ltv-more">
        {answer ? t('{n} of them have paid until now', { n: answer.paying_users.toLocaleString('en') }) : ' '}
      </span>
    </section>
  )
}

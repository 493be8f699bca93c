import './sandbox.css'
import { lazy, Suspense } from 'react'
import type { TestClock } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { Card } from '../../parts/card.tsx'
import { Bars, DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Page } from '../../parts/page.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'
import { useAdvance } from './advance.ts'
import { Clock } from './clock.tsx'
import { Due } from './due.tsx'
import { ResetButton } from './reset-button.tsx'

const Reset = lazy(() => import('./reset.tsx'))
const SampleCard = lazy(() => import('./sample-card.tsx'))

/** The clock of the sandbox: what falls due next, time that passes at once, data to begin with, and a new beginning. */
export default function Sandbox() {
  return usePlace()?.environment === 'production' ? <OfProduction /> : <OfSandbox />
}

const OfProduction = () => (
  <Page title={t('Sandbox')} about={t('A clock of its own, and nothing of it in production')}>
    <section className="card">
      <Empty
        icon="flask"
        title={t('Production has no clock to advance')}
        why={t(
          'The sandbox of this project has the same operations and pages, its own customers and events, and a clock that you set forward.',
        )}
        action={
          <To to="/sandbox" search={{ env: 'sandbox' }} className="chip">
            {t('Open the sandbox')}
          </To>
        }
      />
    </section>
  </Page>
)

function OfSandbox() {
  const [search, set] = useAddress()
  const { advance } = useAdvance()
  const { data } = useRead('v4GetTestClock', {})
  const moves = advance?.state === 'moves' || data?.resetting === true
  const read = useRead('v4GetTestClock', {}, { every: moves ? 1_000 : 10_000 })
  return (
    <Page
      wide
      title={t('Sandbox')}
      about={t('Everything here goes by its own clock. What falls due on the way is done for real, also what is sent')}
      actions={
        <>
          {read.data && !read.data.resetting && <ResetButton onClick={() => set({ at: 'reset' }, { push: true })} />}
          <ShowTheCall name="v4GetTestClock" />
        </>
      }
    >
      <DataState of={read} rows={6}>
        {clock => <Shown clock={clock} />}
      </DataState>
      {search.at === 'reset' && (
        <Suspense>
          <Reset onClose={() => set({ at: undefined })} />
        </Suspense>
      )}
    </Page>
  )
}

const Shown = ({ clock }: { clock: TestClock }) =>
  clock.resetting ? (
    <section className="card" role="status">
      <Empty
        icon="retry"
        title={t('The sandbox is being emptied')}
        why={t(
          'What happened in it goes, thousands of rows at a time; what you have set up stays. Its other pages answer again when it is done.',
        )}
      />
    </section>
  ) : (
    <div className="grid two start">
      <div className="sandbox-left">
        <Clock clock={clock} />
        <Due />
      </div>
      <Suspense
        fallback={
          <Card title={t('Data to look at')}>
            <Bars rows={4} />
          </Card>
        }
      >
        <SampleCard />
      </Suspense>
    </div>
  )

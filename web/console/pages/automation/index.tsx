import './automation.css'
import './boxes.css'
import '../automations/automations.css'
import { useParams } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import type { Automation as Shape } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { useRead } from '../../data/read.ts'
import { Card } from '../../parts/card.tsx'
import { Id } from '../../parts/copy.tsx'
import { Bars } from '../../parts/data-state.tsx'
import { Fault } from '../../parts/fault.tsx'
import { NotHere } from '../../parts/not-here.tsx'
import { Page } from '../../parts/page.tsx'
import { t } from '../../parts/t.ts'
import { FlowCard } from './flow-card.tsx'
import { About, Actions } from './head.tsx'
import { Runs } from './runs.tsx'
import { countsOf, useCounts, useRange, useShown } from './use-counts.ts'
import { useNames } from './use-names.ts'
import { WhyNot } from './why-not.tsx'

/** One automation: its flow with what became of its runs, what did not start and why, and what one can do about it. */
export default function Automation() {
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  return <One key={id} id={id} />
}

function One({ id }: { id: string }) {
  const read = useRead('v4GetAutomation', { path: { automation_id: id } }, { every: 10_000 })
  if (read.error?.status === 404) return <NoSuchAutomation id={id} />
  if (read.data) return <Shown automation={read.data} error={read.error} retry={read.refetch} />
  return (
    <Page wide title={t('Automation')} about={<span className="customer-wait"> </span>}>
      {read.error ? (
        <Fault error={read.error} retry={read.refetch} />
      ) : (
        <Card>
          <Bars shape="chart" />
        </Card>
      )}
    </Page>
  )
}

// They are loaded when the first of them opens.
const Drawers = lazy(() => import('./drawers.tsx'))

function Shown({ automation, error, retry }: { automation: Shape; error: unknown; retry: () => unknown }) {
  const [search] = useAddress()
  const ranged = useRange()
  const shown = useShown(automation)
  const nameOf = useNames(shown.data ?? automation.data)
  const { input, read } = useCounts(automation.id, ranged?.range)
  const counts = countsOf(read.data?.data, shown.version)
  return (
    <Page wide title={automation.name} about={<About automation={automation} />} actions={<Actions automation={automation} call={input} />}>
      {error !== null && <Fault error={error} retry={retry} />}
      <FlowCard automation={automation} shown={shown} ranged={ranged} counted={read} nameOf={nameOf} />
      <div className="grid two start automation-below">
        <Runs id={automation.id} hasOneEvent={automation.data.initiators.length < 2} nameOf={nameOf} />
        {counts ? (
          <WhyNot id={automation.id} counts={counts} />
        ) : (
          !read.error && (
            <Card>
              <Bars rows={3} />
            </Card>
          )
        )}
      </div>
      <Suspense fallback={null}>
        {search.at && <Drawers at={search.at} automation={automation} shown={shown} counts={counts} nameOf={nameOf} />}
      </Suspense>
    </Page>
  )
}

const NoSuchAutomation = ({ id }: { id: string }) => (
  <Page title={t('Automation')} about={<Id>{id}</Id>}>
    <NotHere
      icon="flow"
      title={t('No such automation')}
      why={t('It was deleted, or belongs to another project or environment. The runs of a deleted one stay readable.')}
      to="/automations"
      all={t('All automations')}
    />
  </Page>
)

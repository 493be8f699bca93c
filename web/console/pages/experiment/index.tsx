import '../../parts/growth/growth.css'
import './experiment.css'
import { useParams } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import type { ExperimentGroup, Experiment as ExperimentOf, ExperimentSummary } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { useRead } from '../../data/read.ts'
import { Bars, DataState } from '../../parts/data-state.tsx'
import { contextText } from '../../parts/growth/words.ts'
import { NotHere } from '../../parts/not-here.tsx'
import { Page } from '../../parts/page.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { counted, t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'
import { Actions } from './actions.tsx'
import { Groups } from './groups.tsx'
import { NotReady } from './not-ready.tsx'
import { Results } from './results.tsx'

const Side = lazy(() => import('./side.tsx'))
const ExperimentForm = lazy(() => import('../experiments/form.tsx'))
const GroupForm = lazy(() => import('./group-form.tsx'))
const Steps = lazy(() => import('./steps.tsx'))
const RemoveGroup = lazy(() => import('./remove-group.tsx'))
const Served = lazy(() => import('../../parts/growth/served.tsx'))

/** One experiment: what each group is served, what its people then did, and whether that says something. */
export default function Experiment() {
  const { id } = useParams({ strict: false }) as { id: string }
  const [search, set] = useAddress()
  const path = { experiment_id: id }
  const read = useRead('v4GetExperiment', { path }, { every: 60_000 })
  const experiment = read.data
  const groups = useRead('v4ListExperimentGroups', { path }, { every: 60_000, when: experiment !== undefined })
  const input = { query: { 'filter[experiment_uid][]': [id], ...(search.currency && { currency: search.currency }) } }
  const results = useRead('v4GetExperimentsSummary', input, { every: 60_000, when: experiment !== undefined })
  const summary = results.data?.data.find(({ experiment_uid }) => experiment_uid === id)
  return (
    <Page
      wide
      title={experiment?.name ?? t('Experiment')}
      about={
        <span className="growth-about">
          <To to="/experiments" className="link">
            {t('Experiments')}
          </To>
          {experiment && <About experiment={experiment} summary={summary} />}
        </span>
      }
      actions={experiment && <Actions of={experiment} />}
    >
      {read.error?.status === 404 ? (
        <NotHere icon="versus" title={t('No such experiment')} to="/experiments" all={t('All experiments')} />
      ) : (
        <DataState of={read} rows={10}>
          {shown => (
            <>
              <NotReady of={shown} />
              <div className="grid two start">
                <div className="grid">
                  <Results of={shown} results={results} summary={summary} input={input} />
                  <Groups of={shown} read={groups} />
                </div>
                <div className="grid">
                  <Suspense fallback={<Bars rows={10} />}>
                    <Side of={shown} groups={groups.data?.data} />
                  </Suspense>
                </div>
              </div>
            </>
          )}
        </DataState>
      )}
      <Suspense fallback={null}>
        {experiment && (
          <Over of={experiment} groups={groups.data?.data} at={search.at} onClose={() => set({ at: undefined, person: undefined })} />
        )}
      </Suspense>
    </Page>
  )
}

const About = ({ experiment, summary }: { experiment: ExperimentOf; summary: ExperimentSummary | undefined }) => (
  <>
    <StatusChip status={experiment.status} />
    <span>{contextText(experiment.context_key)}</span>
    {summary && experiment.started_at !== null && <span>{daysText(experiment.status, summary.days_running)}</span>}
  </>
)

/** Whole days from the start to the end or now, pauses included. */
function daysText(status: ExperimentOf['status'], days: number): string {
  if (status === 'finished') return counted(days, 'ran for {n} day', 'ran for {n} days')
  if (status === 'paused') return counted(days, '{n} day since the start', '{n} days since the start')
  return counted(days, 'running for {n} day', 'running for {n} days')
}

type OverProps = { of: ExperimentOf; groups: readonly ExperimentGroup[] | undefined; at: string | undefined; onClose: () => void }

function Over({ of, groups, at, onClose }: OverProps) {
  switch (at) {
    case undefined:
      return null
    case 'edit':
      return of.status === 'finished' ? null : <ExperimentForm experiment={of} onDone={onClose} onClose={onClose} />
    case 'start':
    case 'end':
    case 'delete':
      return <Steps of={of} step={at} onClose={onClose} />
    case 'served':
      return <Served contextKey={of.context_key === '' ? null : of.context_key} onClose={onClose} />
    case 'group.new':
      return of.status === 'draft' && groups ? <GroupForm of={of} isFirst={groups.length === 0} onClose={onClose} /> : null
    default: {
      const group = groups?.find(({ id }) => at === `group.${id}` || at === `remove.${id}`)
      if (group === undefined) return null
      return at.startsWith('remove.') ? (
        <RemoveGroup of={of} group={group} onClose={onClose} />
      ) : (
        <GroupForm key={group.id} of={of} group={group} onClose={onClose} />
      )
    }
  }
}

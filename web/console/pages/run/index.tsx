import './run.css'
import { useParams } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import type { AutomationRunDetail } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { useNow } from '../../data/use-now.ts'
import { Act } from '../../parts/act.tsx'
import { Card, Pairs } from '../../parts/card.tsx'
import { Copy, Id, shortId } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { LiveMark } from '../../parts/live-mark.tsx'
import { NotHere } from '../../parts/not-here.tsx'
import { Page } from '../../parts/page.tsx'
import { runStatus } from '../../parts/run-words.ts'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { plain, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { OtherRuns } from './others.tsx'
import { Standing } from './standing.tsx'
import { RunId, Steps } from './steps.tsx'
import { Strip } from './strip.tsx'

const Cancel = lazy(() => import('./cancel.tsx'))
const RunAgain = lazy(() => import('./again.tsx'))

/** One run: what it did, waits for and will do; it is followed until it ends. */
export default function Run() {
  const { id } = useParams({ strict: false }) as { id: string }
  const [search, set] = useAddress()
  const input = { path: { run_id: id } }
  const read = useRead('v4GetAutomationRun', input, { topics: ['runs', 'deliveries'] })
  const run = read.data?.id === id ? read.data : undefined
  const close = () => set({ at: undefined })
  return (
    <Page
      wide
      title={run ? (run.automation_name ?? run.automation_id) : t('Run')}
      about={run && <About run={run} />}
      actions={
        <>
          <ShowTheCall name="v4GetAutomationRun" input={input} />
          {run && <Actions run={run} />}
        </>
      }
    >
      {run === undefined && read.error?.status === 404 ? (
        <NoSuchRun />
      ) : (
        <DataState of={{ ...read, data: run }} rows={10}>
          {shown => <Shown run={shown} />}
        </DataState>
      )}
      <Suspense fallback={null}>
        {run && search.at === 'cancel' && run.finished_at === null && <Cancel run={run} onClose={close} />}
        {run && search.at === 'again' && run.finished_at !== null && <RunAgain run={run} onClose={close} />}
      </Suspense>
    </Page>
  )
}

const NoSuchRun = () => (
  <NotHere
    icon="runs"
    title={t('No such run')}
    why={t('It belongs to another project or environment, or ended so long ago that it is no longer kept.')}
    to="/runs"
    all={t('All runs')}
  />
)

const About = ({ run }: { run: AutomationRunDetail }) => (
  <span className="run-about">
    {run.is_retrying ? <StatusChip status="retrying" /> : <StatusChip status={run.status} label={runStatus(run.status)} />}
    <Copy text={run.id} />
    <span>{t('version {n}', { n: run.automation_version })}</span>
    {run.automation_name === null ? (
      <span>{t('its automation was deleted')}</span>
    ) : (
      <To to={`/automations/${encodeURIComponent(run.automation_id)}`} className="link">
        {t('the automation')}
      </To>
    )}
    {run.finished_at === null && <LiveMark />}
  </span>
)

function Actions({ run }: { run: AutomationRunDetail }) {
  const [, set] = useAddress()
  const place = usePlace()
  const noRole = useDenied('editor', place?.project)
  const isOver = run.finished_at !== null
  const open = (at: string) => set({ at }, { push: true })
  const deleted = run.automation_name === null ? t('Its automation was deleted') : undefined
  const noAgain = noRole ?? deleted
  useKeys(isOver ? (noAgain ? {} : { e: { says: t('Run it again'), run: () => open('again') } }) : {})
  return isOver ? (
    <Act denied={noAgain} size="xs" leftSection={<Icon name="retry" size={14} />} onClick={() => open('again')}>
      {t('Run again')}
    </Act>
  ) : (
    <Act denied={noRole} size="xs" variant="default" leftSection={<Icon name="close" size={14} />} onClick={() => open('cancel')}>
      {t('Cancel')}
    </Act>
  )
}

/** Of a webhook, the next attempt of its delivery: its own time is only that of a look at it. */
const nextOf = ({ steps, next_attempt_at, due_at }: AutomationRunDetail): string | null => {
  const delivery = steps.at(-1)?.delivery
  return delivery && steps.at(-1)?.status === 'waiting' ? delivery.next_attempt_at : (next_attempt_at ?? due_at)
}

function Shown({ run }: { run: AutomationRunDetail }) {
  const now = useNow()
  const { event, user_id: user } = run
  const hasLanes = run.steps.length + run.ahead.length > 0
  return (
    <>
      <Standing run={run} />
      <div className="grid two start">
        <div className="grid run-column">
          {hasLanes && now !== undefined && (
            <Card title={t('In time')}>
              <Strip run={run} now={now} />
            </Card>
          )}
          <Card flush title={t('Each step')}>
            {hasLanes ? <Steps run={run} /> : <p className="soft run-none">{t('No step was begun.')}</p>}
          </Card>
        </div>
        <div className="grid run-column">
          <Card title={t('Begun by')}>
            <Pairs
              rows={[
                [
                  t('Event'),
                  <To key="event" to="/events" search={{ at: event.id }} className="link row-cell">
                    {plain(event.event_name)}
                  </To>,
                ],
                [t('Happened'), <Time key="at" at={event.happened_at} />],
                [
                  t('Customer'),
                  user === null ? (
                    t('nobody')
                  ) : (
                    <To key="user" to={`/customers/${encodeURIComponent(user)}`} className="link row-cell">
                      <Id>{user}</Id>
                    </To>
                  ),
                ],
                ...(run.trace_id === null
                  ? []
                  : [[t('Trace'), <Copy key="trace" text={run.trace_id} shown={shortId(run.trace_id)} />] as const]),
                ...(run.replay_of === null ? [] : [[t('Repeats'), <RunId key="of" id={run.replay_of} />] as const]),
              ]}
            />
          </Card>
          <Card title={t('Times')}>
            <Pairs
              rows={[
                [t('Made'), <Time key="made" at={run.created_at} />],
                [t('First step'), <Time key="first" at={run.started_at} />],
                run.finished_at === null
                  ? [t('Next due'), <Time key="due" at={nextOf(run)} />]
                  : [t('Ended'), <Time key="ended" at={run.finished_at} />],
              ]}
            />
          </Card>
          {user !== null && <OtherRuns run={run} user={user} />}
        </div>
      </div>
    </>
  )
}

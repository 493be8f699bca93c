import '../../parts/growth/growth.css'
import { lazy, Suspense } from 'react'
import type { Experiment, ExperimentSummary } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Count } from '../../parts/amount.tsx'
import { Card } from '../../parts/card.tsx'
import { shortId } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Fault } from '../../parts/fault.tsx'
import { metricName } from '../../parts/growth/metrics.ts'
import { PercentBar } from '../../parts/growth/percent-bar.tsx'
import { contextText } from '../../parts/growth/words.ts'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { ListFoot } from '../../parts/list-foot.tsx'
import { Page } from '../../parts/page.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { useGo } from '../../parts/to.tsx'

const ExperimentForm = lazy(() => import('./form.tsx'))

/** As many as one answer has results of. */
const ON_PAGE = 50

type Shown = Experiment & { results: ExperimentSummary | undefined }

const COLUMNS: readonly Column<Shown>[] = [
  {
    key: 'name',
    head: t('Experiment'),
    cell: ({ name, status, context_key }) => (
      <>
        <span className="growth-name">
          <bdi>{name}</bdi> <StatusChip status={status} />
        </span>
        <span className="growth-below">{contextText(context_key)}</span>
      </>
    ),
  },
  { key: 'groups', head: t('Groups and their people'), cell: ({ results }) => <Groups of={results} /> },
  {
    key: 'started',
    head: t('Started'),
    cell: ({ started_at, finished_at }) =>
      started_at === null ? (
        <span className="faint">{t('not yet')}</span>
      ) : (
        <>
          <Time at={started_at} relative />
          {finished_at !== null && (
            <span className="growth-below">
              {t('ended')} <Time at={finished_at} relative />
            </span>
          )}
        </>
      ),
  },
  { key: 'share', head: t('Share'), cell: ({ segment_percent }) => <PercentBar percent={segment_percent ?? 100} />, wideOnly: true },
  {
    key: 'metric',
    head: t('Primary metric'),
    cell: ({ primary_metric }) => (primary_metric === null ? <span className="faint">{t('none')}</span> : metricName(primary_metric)),
    wideOnly: true,
  },
]

function Groups({ of: results }: { of: ExperimentSummary | undefined }) {
  if (results === undefined) return <span className="faint">…</span>
  if (results.groups.length === 0) return <span className="faint">{t('no groups yet')}</span>
  return (
    <span className="experiment-groups">
      {results.groups.map(({ group_uid, name, users }) => (
        <span key={group_uid}>
          <bdi>{name ?? shortId(group_uid)}</bdi> <Count value={users} />
        </span>
      ))}
    </span>
  )
}

/** What is tried on whom: each experiment with its groups, and how many people are in them. */
export default function Experiments() {
  const [search, set] = useAddress()
  const go = useGo()
  const denied = useDenied('editor', usePlace()?.project)
  const input = { query: { limit: ON_PAGE, ...(search.after && { starting_after: search.after }) } }
  const read = useRead('v4ListExperiments', input, { every: 60_000 })
  const ids = read.data?.data.map(({ id }) => id) ?? []
  const results = useRead(
    'v4GetExperimentsSummary',
    { query: { 'filter[experiment_uid][]': ids } },
    { when: ids.length > 0, every: 60_000 },
  )
  const open = () => set({ at: 'new' }, { push: true })
  useKeys(denied === undefined ? { n: { says: t('New experiment'), run: open } } : {})
  return (
    <Page
      wide
      title={t('Experiments')}
      about={t('People are divided into groups that are served different things; what each group then does is counted')}
      actions={
        <>
          <ShowTheCall name="v4ListExperiments" input={input} />
          <Act denied={denied} size="xs" leftSection={<Icon name="versus" size={14} />} onClick={open}>
            {t('New experiment')}
          </Act>
        </>
      }
    >
      <Card flush>
        {results.isError && <Fault error={results.error} retry={results.refetch} />}
        <DataState
          of={read}
          shape="table"
          isEmpty={({ data }) => data.length === 0 && search.after === undefined}
          empty={
            <Empty
              icon="versus"
              title={t('No experiment yet')}
              why={t('An experiment serves groups of people different payloads or offerings, and says whether one of them sells better.')}
              action={
                <Act denied={denied} size="xs" onClick={open}>
                  {t('Make the first one')}
                </Act>
              }
              curl={`curl "${location.origin}/v4/experiments" -H "Authorization: Bearer $KEY"`}
            />
          }
        >
          {({ data }) => (
            <Table
              caption={t('Experiments')}
              columns={COLUMNS}
              rows={data.map(one => ({ ...one, results: results.data?.data.find(({ experiment_uid }) => experiment_uid === one.id) }))}
              rowKey={({ id }) => id}
              target={({ id }) => ({ to: `/experiments/${id}` })}
            />
          )}
        </DataState>
        <ListFoot of={read} />
      </Card>
      {search.at === 'new' && denied === undefined && (
        <Suspense fallback={null}>
          <ExperimentForm onDone={id => go({ to: `/experiments/${id}` })} onClose={() => set({ at: undefined })} />
        </Suspense>
      )}
    </Page>
  )
}

import { Button } from '@mantine/core'
import type { DueJob } from '../../../../clients/typescript/src/index.ts'
import { usePages } from '../../data/read.ts'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { curlOf, ShowTheCall } from '../../parts/show-the-call.tsx'
import { plain, t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { type Target, To } from '../../parts/to.tsx'

const TOPICS = ['runs', 'deliveries', 'reports', 'exports', 'events'] as const
const INPUT = { query: { limit: 20 } }

/** Where the thing that falls due has its page. */
function targetOf(job: DueJob): Target | undefined {
  const { reference } = job
  if (reference === null) return undefined
  const { kind, id, url } = reference
  switch (kind) {
    case 'automation_run':
      return { to: `/runs/${id}` }
    case 'customer':
      return { to: `/customers/${id}` }
    case 'scheduled_report':
      return { to: `/reports/${id}` }
    case 'integration':
      return { to: `/integrations/${id}` }
    case 'delivery':
      return { to: `/integrations/${url.split('/')[3]}`, search: { at: id } }
    case 'export':
      return { to: '/exports', search: { at: id } }
    default:
      return undefined
  }
}

const COLUMNS: readonly Column<DueJob>[] = [
  { key: 'at', head: t('Falls due'), cell: ({ at }) => <Time at={at} /> },
  {
    key: 'what',
    head: t('What happens'),
    cell: job => {
      const target = targetOf(job)
      return target ? (
        <To {...target} className="due-what link" data-row>
          {job.text}
        </To>
      ) : (
        <span className="due-what">{job.text}</span>
      )
    },
  },
  { key: 'kind', head: t('Kind'), cell: ({ kind }) => plain(kind), wideOnly: true },
]

/** What an advance would do, the earliest first. */
export function Due() {
  const read = usePages('v4ListTestClockDue', INPUT, { topics: TOPICS, every: 10_000 })
  return (
    <Card flush title={t('What falls due next')} right={<ShowTheCall name="v4ListTestClockDue" input={INPUT} />}>
      <DataState
        of={read}
        shape="table"
        rows={6}
        isEmpty={jobs => jobs.length === 0}
        empty={
          <Empty
            icon="clock"
            title={t('Nothing waits for time to pass')}
            why={t('Waits of automations, slots of reports, further attempts of deliveries and ends of subscriptions stand here.')}
            curl={curlOf('v4ListTestClockDue', INPUT)}
          />
        }
      >
        {jobs => (
          <>
            <Table caption={t('What falls due next')} columns={COLUMNS} rows={jobs} rowKey={({ id }) => id} />
            {read.hasNextPage && (
              <div className="due-more">
                <Button size="xs" variant="default" loading={read.isFetchingNextPage} onClick={read.more}>
                  {t('More')}
                </Button>
              </div>
            )}
          </>
        )}
      </DataState>
    </Card>
  )
}

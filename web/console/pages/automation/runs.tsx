import type { AutomationRun } from '../../../../clients/typescript/src/index.ts'
import { useRead } from '../../data/read.ts'
import { Card } from '../../parts/card.tsx'
import { Id } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { runReason, runStatus } from '../../parts/run-words.ts'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import type { NameOfEvent } from './words.ts'

const columns = (nameOf: NameOfEvent, hasOneEvent: boolean): readonly Column<AutomationRun>[] => [
  {
    key: 'status',
    head: t('Run'),
    cell: ({ status, is_retrying }) =>
      is_retrying ? <StatusChip status="retrying" /> : <StatusChip status={status} label={runStatus(status)} />,
  },
  {
    key: 'where',
    head: t('Where'),
    cell: ({ current_step, reason }) =>
      current_step ? (
        <code title={current_step}>{current_step}</code>
      ) : reason ? (
        <span className="soft">{runReason(reason)}</span>
      ) : (
        <span className="faint">–</span>
      ),
  },
  {
    key: 'user',
    head: t('Customer'),
    wideOnly: true,
    cell: ({ user_id }) =>
      user_id ? (
        <To to={`/customers/${encodeURIComponent(user_id)}`} className="link">
          <Id>{user_id}</Id>
        </To>
      ) : (
        <span className="faint">{t('nobody')}</span>
      ),
  },
  ...(hasOneEvent
    ? []
    : [{ key: 'event', head: t('Event'), wideOnly: true, cell: ({ event }: AutomationRun) => nameOf(event.event_name) }]),
  { key: 'next', head: t('Next'), wideOnly: true, cell: ({ due_at }) => <Time at={due_at} relative /> },
  { key: 'began', head: t('Began'), cell: ({ created_at }) => <Time at={created_at} relative /> },
]

/** The latest runs; all of them have a page of their own. */
export function Runs({ id, hasOneEvent, nameOf }: { id: string; hasOneEvent: boolean; nameOf: NameOfEvent }) {
  const read = useRead('v4ListAutomationRuns', { path: { automation_id: id }, query: { limit: 10 } }, { topics: ['runs'] })
  return (
    <Card
      flush
      title={t('Latest runs')}
      right={
        <To to="/runs" search={{ 'f.automation_id': id }} className="link">
          {t('All runs')}
        </To>
      }
    >
      <DataState
        of={read}
        shape="table"
        rows={4}
        isEmpty={({ data }) => data.length === 0}
        empty={<p className="automation-gone">{t('No run yet. One begins with each event that starts the automation.')}</p>}
      >
        {({ data }) => (
          <Table
            caption={t('Latest runs')}
            columns={columns(nameOf, hasOneEvent)}
            rows={data}
            rowKey={run => run.id}
            target={run => ({ to: `/runs/${encodeURIComponent(run.id)}` })}
          />
        )}
      </DataState>
    </Card>
  )
}

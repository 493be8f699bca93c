import { Button } from '@mantine/core'
import { useState } from 'react'
import type { Ledger, LedgerRow } from '../../../../clients/typescript/src/index.ts'
import type { Input } from '../../data/operations.ts'
import { usePages } from '../../data/read.ts'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Empty } from '../../parts/empty.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { counted, plain, t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import type { Target } from '../../parts/to.tsx'

type Query = Input<'v4ListLedgerRows'>['query']

/** As long as the ledger looks back. */
const ALL_DAYS = 366

/** The rows behind a number: `deliveries.broken`, or behind a reason: `deliveries.because.exhausted`. */
export function Rows({ at, ledger, onClose }: { at: string; ledger: Ledger; onClose: () => void }) {
  const [kind, state, ...rest] = at.split('.') as [Query['kind'], Query['state'] | 'because', ...string[]]
  const reason = rest.join('.')
  // The window of when it was opened: with a later one the list would begin anew, at each count of the ledger.
  const [{ from, to }] = useState(ledger)
  // What is overdue is overdue, whatever the window.
  const window = state === 'overdue' ? { from: daysBefore(to, ALL_DAYS), to } : { from, to }
  if (!ledger.data.some(entry => entry.kind === kind)) return null
  return (
    <Drawer title={titleOf(kind, state, reason)} onClose={onClose}>
      <p className="rows-window soft">
        <Time at={window.from} /> {t('to')} <Time at={to} />
      </p>
      {state === 'because' ? (
        // One reason may be of what was declined and of what is broken.
        <>
          <List query={{ kind, state: 'broken', reason, ...window }} title={t('Broken')} />
          <List query={{ kind, state: 'declined', reason, ...window }} title={t('Declined')} />
        </>
      ) : (
        <List query={{ kind, state, ...window }} />
      )}
    </Drawer>
  )
}

const titleOf = (kind: string, state: string, reason: string) =>
  state === 'because' ? `${plain(kind)}: ${plain(reason)}` : `${plain(kind)}: ${state === 'outstanding' ? t('to come') : t(state)}`

const daysBefore = (time: string, days: number) => new Date(Date.parse(time) - days * 86_400_000).toISOString().replace(/\.\d+Z/, 'Z')

/** Where a row has its page. */
function targetOf({ kind, id, parent }: LedgerRow): Target {
  switch (kind) {
    case 'automation_runs':
      return { to: `/runs/${id}` }
    case 'deliveries':
      return { to: `/integrations/${parent?.id}`, search: { at: id ?? undefined } }
    case 'report_slots':
      return { to: `/reports/${parent?.id}`, search: { at: id ?? undefined } }
    case 'exports':
      return { to: '/exports', search: { at: id ?? undefined } }
  }
}

const COLUMNS: readonly Column<LedgerRow>[] = [
  {
    key: 'what',
    head: t('What'),
    cell: ({ id, parent }) => (
      <span className="rows-what">
        {parent && <b>{parent.name ?? t('deleted')}</b>}
        {id === null ? t('no worker has taken it') : <code>{id}</code>}
      </span>
    ),
  },
  { key: 'at', head: t('Due'), cell: ({ at }) => <Time at={at} /> },
  {
    key: 'why',
    head: t('Became'),
    cell: ({ outcome, reason, due_at, state }) => (
      <span className="rows-why">
        {outcome !== null ? (
          plain(outcome)
        ) : state === 'held' ? (
          t('held')
        ) : due_at ? (
          <>
            {t('next')} <Time at={due_at} />
          </>
        ) : (
          t('under way')
        )}
        {reason && <span className="soft">{plain(reason)}</span>}
      </span>
    ),
  },
]

function List({ query, title }: { query: Query; title?: string }) {
  const read = usePages('v4ListLedgerRows', { query: { ...query, limit: 50 } })
  const removed = read.first?.removed ?? 0
  // Of a reason only the state that has any is shown.
  if (title !== undefined && read.data?.length === 0 && !read.hasNextPage && removed === 0) return null
  return (
    <section className="rows" aria-label={title}>
      {title && <h3>{title}</h3>}
      <DataState
        of={read}
        shape="table"
        isEmpty={rows => rows.length === 0 && !read.hasNextPage && removed === 0}
        empty={
          <Empty icon="check" title={t('There are none any more')} why={t('What stood here has moved on since the number was counted.')} />
        }
      >
        {rows => (
          <>
            {rows.length > 0 && (
              <Table
                caption={title ?? t('Rows')}
                columns={COLUMNS}
                rows={rows}
                rowKey={row => row.id ?? `${row.parent?.id} ${row.at}`}
                target={targetOf}
              />
            )}
            <div className="rows-end">
              {read.hasNextPage && (
                <Button size="xs" variant="default" loading={read.isFetchingNextPage} onClick={read.more}>
                  {rows.length === 0 ? t('None among the newest: look further back') : t('More')}
                </Button>
              )}
              {removed > 0 && (
                <p className="soft">
                  {counted(
                    removed,
                    '{n} more is counted, whose row is not kept any more.',
                    '{n} more are counted, whose rows are not kept any more.',
                  )}
                </p>
              )}
              <ShowTheCall name="v4ListLedgerRows" input={{ query }} />
            </div>
          </>
        )}
      </DataState>
    </section>
  )
}

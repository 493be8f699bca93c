import type { AuditEntry } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { useRead } from '../../data/read.ts'
import { Card } from '../../parts/card.tsx'
import { Id } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { csv, ExportMenu } from '../../parts/export-menu.tsx'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { AuditDrawer } from './audit-drawer.tsx'
import { AuditFilters, auditQueryOf, isAuditFiltered, NO_AUDIT_FILTER } from './audit-filters.tsx'
import { actorOf, deedOf, thingOf } from './audit-words.ts'

const COLUMNS: readonly Column<AuditEntry>[] = [
  { key: 'what', head: t('What'), cell: entry => <span className="key-name">{deedOf(entry.operation)}</span> },
  { key: 'who', head: t('Who'), cell: ({ actor }) => <span className="audit-who">{actorOf(actor)}</span> },
  {
    key: 'on',
    head: t('On'),
    cell: ({ resource, resource_id }) => (
      <>
        {thingOf(resource)} {resource_id && <Id>{resource_id}</Id>}
      </>
    ),
    wideOnly: true,
  },
  { key: 'when', head: t('When'), cell: ({ created_at }) => <Time at={created_at} /> },
]

/** Who changed what, newest first, with what was before and afterwards. */
export default function AuditTab() {
  const [search, set] = useAddress()
  const read = useRead('v4ListAuditLog', { query: auditQueryOf(search) }, search.after === undefined ? { every: 30_000 } : {})
  const at = read.data?.data.find(({ id }) => id === search.at)
  const filtered = isAuditFiltered(search) || search.after !== undefined
  return (
    <>
      <AuditFilters />
      <Card
        flush
        title={search.after === undefined ? t('Newest') : t('Older entries')}
        right={
          <>
            {search.after !== undefined && (
              <button type="button" className="chip" onClick={() => set({ after: undefined })}>
                <Icon name="up" size={13} />
                {t('The newest')}
              </button>
            )}
            <ExportMenu
              downloads={[{ says: t('These entries as CSV'), file: 'audit-log.csv', make: () => asCsv(read.data?.data ?? []) }]}
            />
          </>
        }
      >
        <DataState
          of={read}
          shape="table"
          rows={10}
          isEmpty={({ data }) => data.length === 0}
          empty={
            filtered ? (
              <Empty
                icon="search"
                title={t('No entry fits')}
                why={t('No change of the last 400 days has all that the filters ask for.')}
                action={
                  <button type="button" className="chip" onClick={() => set(NO_AUDIT_FILTER)}>
                    {t('Show all entries')}
                  </button>
                }
              />
            ) : (
              <Empty
                icon="list"
                title={t('Nothing was changed yet')}
                why={t('Each change by a key, a person, an assistant or the command line is written down and kept for 400 days.')}
                curl={`curl "${location.origin}/v4/audit-log" -H "Authorization: Bearer $KEY"`}
              />
            )
          }
        >
          {({ data, has_more, next_cursor }) => (
            <>
              <Table
                caption={t('Audit log')}
                columns={COLUMNS}
                rows={data}
                rowKey={({ id }) => id}
                onOpen={({ id }) => set({ at: id }, { push: true })}
              />
              {has_more && (
                <div className="table-foot">
                  <button type="button" className="chip" onClick={() => set({ after: next_cursor }, { push: true })}>
                    {t('Older')}
                    <Icon name="next" size={12} />
                  </button>
                </div>
              )}
            </>
          )}
        </DataState>
      </Card>
      {at && <AuditDrawer key={at.id} entry={at} onClose={() => set({ at: undefined })} />}
    </>
  )
}

const asCsv = (entries: readonly AuditEntry[]) =>
  csv([
    ['id', 'created_at', 'actor_kind', 'actor', 'operation', 'resource', 'resource_id', 'request_id', 'reason', 'before', 'after'],
    ...entries.map(entry => [
      entry.id,
      entry.created_at,
      entry.actor.kind,
      entry.actor.id,
      entry.operation,
      entry.resource,
      entry.resource_id,
      entry.request_id,
      entry.reason,
      JSON.stringify(entry.before),
      JSON.stringify(entry.after),
    ]),
  ])

import './audit.css'
import { Button } from '@mantine/core'
import type { AuditEntry } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { useRead } from '../../data/read.ts'
import { useSpanNow } from '../../data/spans.ts'
import { actorOf, deedOf, thingOf } from '../../parts/audit-words.ts'
import { Card } from '../../parts/card.tsx'
import { Id } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { csv, ExportMenu } from '../../parts/export-menu.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { Page } from '../../parts/page.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { EntryDrawer, LinkedEntry } from './entry-drawer.tsx'
import { Filters } from './filters.tsx'
import { isFiltered, NO_FILTER, queryOf } from './query.ts'
import { Summary } from './summary.tsx'
import { targetOf } from './target.ts'

const COLUMNS: readonly Column<AuditEntry>[] = [
  {
    key: 'what',
    head: t('What'),
    cell: entry => (
      <span className="audit-what">
        {deedOf(entry.operation)}
        <span className="audit-narrow">
          <bdi>{actorOf(entry.actor)}</bdi> · {thingOf(entry.resource)}
        </span>
      </span>
    ),
  },
  {
    key: 'who',
    head: t('Who'),
    cell: ({ actor }) => (
      <span className="audit-who" title={actorOf(actor)}>
        {actorOf(actor)}
      </span>
    ),
    wideOnly: true,
  },
  { key: 'on', head: t('On'), cell: entry => <On entry={entry} />, wideOnly: true },
  { key: 'how', head: t('Before → afterwards'), cell: entry => <Summary entry={entry} />, wideOnly: true },
  { key: 'when', head: t('When'), cell: ({ created_at }) => <Time at={created_at} /> },
]

function On({ entry }: { entry: AuditEntry }) {
  const target = targetOf(entry)
  const id = entry.resource_id && <Id>{entry.resource_id}</Id>
  return (
    <>
      {thingOf(entry.resource)}{' '}
      {target && id ? (
        <To {...target} className="link-quiet row-cell">
          {id}
        </To>
      ) : (
        id
      )}
    </>
  )
}

/** Who changed what, newest first, with what was before and afterwards. */
export default function Audit() {
  const [search, set] = useAddress()
  const now = useSpanNow(search.range)
  const input = { query: queryOf(search, now) }
  const isNewest = search.after === undefined
  const read = useRead('v4ListAuditLog', input, isNewest ? { every: 30_000 } : {})
  const at = read.data?.data.find(({ id }) => id === search.at)
  const close = () => set({ at: undefined })
  const older = read.data?.next_cursor
  const goOlder = () => older && set({ after: older }, { push: true })
  useKeys({
    '[': { says: t('Older changes'), run: goOlder },
    ']': { says: t('The newest changes'), run: () => set({ after: undefined }) },
  })
  return (
    <Page
      wide
      title={t('Audit')}
      about={t('Who changed what, with what was before and afterwards')}
      actions={
        <>
          <ShowTheCall name="v4ListAuditLog" input={input} />
          <ExportMenu downloads={[{ says: t('These entries as CSV'), file: 'audit-log.csv', make: () => asCsv(read.data?.data ?? []) }]} />
        </>
      }
    >
      <Filters entries={read.data?.data ?? []} />
      <Card
        flush
        title={isNewest ? t('Newest') : t('Older entries')}
        right={
          !isNewest && (
            <button type="button" className="chip" onClick={() => set({ after: undefined })}>
              <Icon name="up" size={13} />
              {t('The newest')}
            </button>
          )
        }
      >
        <DataState of={read} shape="table" rows={10} isEmpty={({ data }) => data.length === 0} empty={<Nothing />}>
          {({ data, has_more }) => (
            <>
              <Table
                caption={t('Audit log')}
                columns={COLUMNS}
                rows={data}
                rowKey={({ id }) => id}
                onOpen={({ id }) => set({ at: id }, { push: true })}
              />
              <div className="audit-foot">
                {has_more ? (
                  <Button size="xs" variant="default" rightSection={<Icon name="next" size={12} />} onClick={goOlder}>
                    {t('Older')}
                  </Button>
                ) : (
                  <span className="soft">{t('These are the first ones. Entries are kept for 400 days.')}</span>
                )}
              </div>
            </>
          )}
        </DataState>
      </Card>
      {at && <EntryDrawer key={at.id} entry={at} onClose={close} />}
      {search.at !== undefined && at === undefined && !read.isPending && <LinkedEntry key={search.at} id={search.at} onClose={close} />}
    </Page>
  )
}

function Nothing() {
  const [search, set] = useAddress()
  if (isFiltered(search) || search.after !== undefined)
    return (
      <Empty
        icon="search"
        title={t('No entry fits')}
        why={t('No change of the last 400 days has all that the filters ask for.')}
        action={
          <Button variant="default" onClick={() => set(NO_FILTER)}>
            {t('Show all entries')}
          </Button>
        }
      />
    )
  return (
    <Empty
      icon="audit"
      title={t('Nothing was changed yet')}
      why={t('Each change by a key, a person, an assistant or the command line is written down and kept for 400 days.')}
      curl={`curl "${location.origin}/v4/audit-log" -H "Authorization: Bearer $KEY"`}
    />
  )
}

const asCsv = (entries: readonly AuditEntry[]) =>
  csv([
    ['id', 'created_at', 'actor_kind', 'actor', 'operation', 'resource', 'resource_id', 'request_id', 'reason', 'before', 'after'],
    ...entries.map(entry => [
      ...[entry.id, entry.created_at, entry.actor.kind, entry.actor.id, entry.operation, entry.resource, entry.resource_id],
      ...[entry.request_id, entry.reason, JSON.stringify(entry.before), JSON.stringify(entry.after)],
    ]),
  ])

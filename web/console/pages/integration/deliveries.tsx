import type { Integration, IntegrationDelivery } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { useRead } from '../../data/read.ts'
import { useSpanNow } from '../../data/spans.ts'
import { Card } from '../../parts/card.tsx'
import { Id, shortId } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { csv, ExportMenu } from '../../parts/export-menu.tsx'
import { span } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { LiveMark } from '../../parts/live-mark.tsx'
import { PersonFilter } from '../../parts/person-filter.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { SpanPick } from '../../parts/span-pick.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { plain, t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Taken } from '../../parts/taken.tsx'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { errorText, reasonText } from '../integrations/words.ts'
import { isFiltered, NO_FILTER, queryOf, STATUSES, statusOf } from './query.ts'

const lastOf = ({ attempts }: IntegrationDelivery) => attempts.at(-1)

const COLUMNS: readonly Column<IntegrationDelivery>[] = [
  {
    key: 'event',
    head: t('Event'),
    cell: ({ event_name, source }) => (
      <span className="delivery-name">
        {plain(event_name)}
        {source === 'automation' && <span className="soft"> {t('by a run')}</span>}
      </span>
    ),
  },
  {
    key: 'status',
    head: t('Status'),
    cell: ({ status, reason }) => (
      <span className="delivery-status">
        <StatusChip status={status} />
        {reason && <span className="soft wide-only">{reasonText(reason)}</span>}
      </span>
    ),
  },
  {
    key: 'customer',
    head: t('Customer'),
    cell: ({ user_id }) =>
      user_id === null ? (
        <span className="faint">{t('no customer')}</span>
      ) : (
        <To to={`/customers/${encodeURIComponent(user_id)}`} className="link-quiet row-cell">
          <Id>{user_id}</Id>
        </To>
      ),
    wideOnly: true,
  },
  {
    key: 'answer',
    head: t('Last answer'),
    cell: delivery => {
      const last = lastOf(delivery)
      if (!last) return <span className="faint">–</span>
      return last.http_status !== null ? last.http_status : last.error ? errorText(last.error) : <span className="faint">–</span>
    },
    wideOnly: true,
  },
  { key: 'attempts', head: t('Attempts'), cell: ({ attempt_count }) => attempt_count, figures: true, wideOnly: true },
  {
    key: 'took',
    head: t('Took'),
    cell: delivery => {
      const ms = lastOf(delivery)?.duration_ms
      return typeof ms === 'number' ? span(ms) : <span className="faint">–</span>
    },
    figures: true,
    wideOnly: true,
  },
  { key: 'next', head: t('Next attempt'), cell: ({ next_attempt_at }) => <Time at={next_attempt_at} relative />, wideOnly: true },
  { key: 'created', head: t('Created'), cell: ({ created_at }) => <Time at={created_at} /> },
]

/** What went to the integration and what became of it, newest first. */
export function Deliveries({ of: integration }: { of: Integration }) {
  const [search, set] = useAddress()
  const now = useSpanNow(search.range)
  const input = { path: { integration_id: integration.id }, query: queryOf(search, now) }
  const read = useRead('v4ListIntegrationDeliveries', input, search.after === undefined ? { topics: ['deliveries'] } : {})
  const next = read.data?.has_more ? read.data.next_cursor : undefined
  const older = () => next !== undefined && set({ after: next }, { push: true })
  useKeys({
    '[': { says: t('Older deliveries'), run: older },
    ']': { says: t('The newest deliveries'), run: () => set({ after: undefined }) },
  })
  return (
    <>
      <Filters />
      <Card
        flush
        title={search.after === undefined ? t('Newest') : t('Older deliveries')}
        right={
          <>
            {search.after === undefined ? (
              <LiveMark />
            ) : (
              <button type="button" className="chip" onClick={() => set({ after: undefined })}>
                <Icon name="up" size={13} />
                {t('The newest')}
              </button>
            )}
            <ShowTheCall name="v4ListIntegrationDeliveries" input={input} />
            <ExportMenu
              downloads={[{ says: t('These deliveries as CSV'), file: 'deliveries.csv', make: () => asCsv(read.data?.data ?? []) }]}
            />
          </>
        }
      >
        <DataState of={read} shape="table" rows={10} isEmpty={({ data }) => data.length === 0} empty={<Nothing of={integration} />}>
          {({ data }) => (
            <>
              <Table
                caption={t('Deliveries to {title}', { title: integration.title })}
                columns={COLUMNS}
                rows={data}
                rowKey={({ id }) => id}
                onOpen={({ id }) => set({ at: id }, { push: true })}
              />
              {next !== undefined && (
                <div className="log-foot">
                  <button type="button" className="chip" onClick={older}>
                    {t('Older')}
                    <Icon name="next" size={12} />
                  </button>
                </div>
              )}
            </>
          )}
        </DataState>
      </Card>
    </>
  )
}

function Filters() {
  const [search, set] = useAddress()
  const only = (change: Record<string, string | undefined>) => set({ ...change, after: undefined })
  const status = statusOf(search)
  const taken: [string, string | undefined, string][] = [
    ['f.customer', search['f.customer'], t('of {id}', { id: shortId(search['f.customer'] ?? '') })],
    ['f.name', search['f.name'], plain(search['f.name'] ?? '')],
    ['f.replay', search['f.replay'], t('of the replay {id}', { id: shortId(search['f.replay'] ?? '') })],
  ]
  return (
    <div className="filters">
      {STATUSES.map(([code, text]) => (
        <button
          type="button"
          key={code}
          className={code === status ? 'chip on' : 'chip'}
          aria-pressed={code === status}
          onClick={() => only({ 'f.status': code === status ? undefined : code })}
        >
          {t(text)}
        </button>
      ))}
      <SpanPick name={t('When it was planned')} />
      <PersonFilter name={t('Only deliveries of a person')} onFind={id => only({ 'f.customer': id })} />
      {taken.map(([name, value, label]) => value && <Taken key={name} label={label} onTake={() => only({ [name]: undefined })} />)}
      {isFiltered(search) && (
        <button type="button" className="chip dashed" onClick={() => set(NO_FILTER)}>
          {t('Clear the filters')}
        </button>
      )}
    </div>
  )
}

function Nothing({ of: { active, id } }: { of: Integration }) {
  const [search, set] = useAddress()
  if (isFiltered(search) || search.after !== undefined)
    return (
      <Empty
        icon="search"
        title={t('No delivery fits')}
        why={t('Of the deliveries that are kept, for 30 days after their end, none has all that the filters ask for.')}
        action={
          <button type="button" className="chip" onClick={() => set(NO_FILTER)}>
            {t('Show all deliveries')}
          </button>
        }
      />
    )
  return (
    <Empty
      icon="plug"
      title={t('Nothing was sent yet')}
      why={
        active === 1
          ? t('Each event that its settings select becomes a delivery as it happens. Post a test event, or wait for the next one.')
          : t('It is not active. From its first start on, each event that its settings select becomes a delivery.')
      }
      action={
        <To to={active === 1 ? '/events' : `/integrations/${id}`} search={active === 1 ? {} : { tab: 'settings' }} className="link">
          {active === 1 ? t('To the events') : t('To its settings')}
        </To>
      }
      curl={`curl "${location.origin}/v4/integrations/${id}/deliveries" -H "Authorization: Bearer $KEY"`}
    />
  )
}

const asCsv = (rows: readonly IntegrationDelivery[]) =>
  csv([
    [
      'id',
      'created_at',
      'event_name',
      'event_id',
      'user_id',
      'status',
      'reason',
      'attempt_count',
      'last_status',
      'last_error',
      'delivered_at',
    ],
    ...rows.map(row => [
      row.id,
      row.created_at,
      row.event_name,
      row.event_id,
      row.user_id,
      row.status,
      row.reason && reasonText(row.reason),
      row.attempt_count,
      lastOf(row)?.http_status,
      lastOf(row)?.error,
      row.delivered_at,
    ]),
  ])

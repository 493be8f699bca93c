import { arrayOf } from '../../store/array-literal.ts'
import type { Tx } from '../../store/connect.ts'
import { isUniqueViolation } from '../../store/failures.ts'
import { notifyAfterCommit } from '../../store/notify.ts'
import { storedTrace } from '../../store/tracing.ts'
import { LOG_CHANNEL } from '../durable/log/consumer.ts'
import { markUnread } from '../durable/log/unread.ts'
import type { Environment } from '../kernel/environment.ts'
import { isoMicros } from '../kernel/time/instant.ts'
import type { Entry } from './entry.ts'

type Column = [name: string, type: string, value: (entry: Entry) => string | number | null]
type Read = (entry: Entry) => string | null | undefined

/** An empty text is stored as null. */
const column =
  (type: string) =>
  (name: string, read: Read): Column => [name, type, entry => read(entry) || null]
const text = column('text')
const time = column('timestamptz')
const amount = column('numeric')
const flag = (name: string, read: (entry: Entry) => boolean | undefined): Column => [
  name,
  'boolean',
  entry => read(entry)?.toString() ?? null,
]

/** The columns of the log that an entry fills. The statement sets `environment`, `log_offset` and `received_at`. */
export const ENTRY_COLUMNS: readonly Column[] = [
  ['partition', 'smallint', e => e.partition],
  text('id', e => e.id),
  text('event_id', e => e.item.event_id),
  text('name', e => e.item.event_name),
  text('user_id', e => e.user),
  time('happened_at', e => isoMicros(e.at)),
  text('transaction_key', e => e.transactionKey),
  text('platform', e => e.platform),
  text('product_id', e => e.item.product_id),
  text('old_product_id', e => e.item.old_product_id),
  text('new_product_id', e => e.item.new_product_id),
  text('subscription_group', e => e.item.subscription_group),
  text('screen_id', e => e.item.screen_id),
  text('reason', e => e.item.reason),
  flag('is_voluntary', e => e.item.is_voluntary),
  flag('is_discounted', e => e.item.is_discounted),
  text('transaction_id', e => e.item.transaction?.transaction_id),
  text('original_transaction_id', e => e.item.transaction?.original_transaction_id),
  time('transaction_date', e => e.item.transaction?.transaction_date),
  time('transaction_expires_at', e => e.item.transaction?.expires_at),
  time('grace_period_expires_at', e => e.item.transaction?.grace_period_expires_at),
  amount('price', e => e.money.price),
  text('currency', e => e.money.currency),
  amount('proceeds', e => e.money.proceeds),
  amount('price_usd', e => e.money.priceUsd),
  amount('proceeds_usd', e => e.money.proceedsUsd),
  text('device_id', e => e.item.device?.id),
  text('device_model', e => e.item.device?.model),
  text('advertiser_id', e => e.item.device?.advertiser_id),
  text('os_version', e => e.item.device?.os_version),
  text('locale', e => e.item.device?.locale),
  text('country', e => e.item.device?.country),
  text('ip', e => e.item.device?.ip),
  text('app_id', e => e.item.app?.id),
  text('app_name', e => e.item.app?.name),
  text('app_version', e => e.item.app?.version),
  text('sdk_version', e => e.item.app?.sdk_version),
  text('known_country', e => e.known?.country),
  text('known_app_version', e => e.known?.app_version),
  text('known_locale', e => e.known?.locale),
  text('media_source', e => e.item.attribution?.media_source),
  text('campaign', e => e.item.attribution?.campaign),
  text('ad_set', e => e.item.attribution?.ad_set),
  text('ad', e => e.item.attribution?.ad),
  ['triggers', 'boolean', e => (e.triggers ? 't' : 'f')],
  ['purchase', 'bigint', e => e.purchase ?? null],
  ['sent_at', 'bigint', e => e.item.ofApp?.sentAt ?? null],
  ['properties', 'jsonb', e => (e.item.properties ? JSON.stringify(e.item.properties) : null)],
]
const FIRST = 2 // after $1 environment
const names = ENTRY_COLUMNS.map(([name]) => name)
const TRACE = `$${FIRST + ENTRY_COLUMNS.length}::text`

// The counters are locked in the order of their partitions and raised; the locks last for this statement and the commit that follows.
// Offsets are assigned in array order, and all have the time after the last lock, so that ids tell the order within a batch. When an event id or a
// transaction is in the log already, the statement fails and the counters are rolled back with it, so that no gap arises.
const APPEND = `
with input as materialized (
  select * from unnest(${ENTRY_COLUMNS.map(([, type], i) => `$${i + FIRST}::${type}[]`).join(', ')}) with ordinality as i(${names.join(', ')}, n)
), wanted as (
  select partition, count(*) as rows from input group by partition
), locked as materialized (
  select p.partition, w.rows from log_positions p join wanted w on w.partition = p.partition
  where p.environment = $1 order by p.partition for no key update of p
), received as materialized (
  select clock_timestamp() + e.clock_offset as at from (select count(*) from locked) l cross join environments e where e.id = $1
), assigned as (
  update log_positions p set next_offset = p.next_offset + l.rows, last_received_at = greatest(p.last_received_at, (select at from received))
  from locked l where p.environment = $1 and p.partition = l.partition
  returning p.partition, p.next_offset - l.rows as base, p.last_received_at as received_at
)
insert into events (environment, log_offset, received_at, trace_context, ${names.join(', ')})
select $1, t.base + row_number() over (partition by i.partition order by i.n) - 1, t.received_at, ${TRACE}, ${names.map(n => `i.${n}`).join(', ')}
from input i join assigned t on t.partition = i.partition`

/**
 * Appends entries to the log, in order, at the end of the transaction: until the commit the counters stay locked. Throws the
 * database's unique violation when an event id or a transaction is in the log already.
 */
export async function appendEntries(tx: Tx, environment: Environment, entries: Entry[]): Promise<void> {
  const values = [environment, ...ENTRY_COLUMNS.map(([, , value]) => arrayOf(entries, value)), storedTrace()]
  const written = await tx.query({ name: 'append-events', text: APPEND, values })
  if (written.rowCount !== entries.length)
    throw new Error(`${written.rowCount} of ${entries.length} events were appended: the environment lacks log positions`)
  const isConsumed = await markUnread(tx, environment)
  if (isConsumed && entries.some(entry => entry.triggers)) notifyAfterCommit(tx, LOG_CHANNEL, String(environment))
}

/** Whether a concurrent writer appended an event with the same id or transaction: a repeat of the transaction finds that event. */
export const isLogConflict = (error: unknown): boolean =>
  isUniqueViolation(error, 'events_by_event_id') || isUniqueViolation(error, 'events_by_transaction')

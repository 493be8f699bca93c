import { VALUE_SLUGS } from '../../events/catalogue.ts'
import {
  CUSTOMER_EXPORT_COLUMNS,
  EVENT_EXPORT_COLUMNS,
  type ExportColumn,
  INCLUDED_COLUMNS,
  type IncludedColumn,
  sortedIncluded,
  USER_HEADER,
} from './columns.ts'
import type { ExportFormat, ExportType } from './export.ts'
import { isMember, type PartRange, plain, setting, USERS_OF_PART, USERS_ORDER, withRange } from './part-range.ts'
import { ENTITLEMENT_COLUMNS, PURCHASE_STATE_COLUMNS, SUBSCRIPTION_COLUMNS } from './state-columns.ts'
import { ENTITLEMENTS_FROM, PURCHASE_STATE_FROM, SUBSCRIPTIONS_FROM } from './state-statement.ts'

const csvValue = ({ sql, kind }: ExportColumn): string => {
  if (kind === 'time') return `date_trunc('second', ${sql} at time zone 'UTC')`
  return kind === 'boolean' ? `(${sql})::text` : sql
}

/** A text that begins with one of these characters is a formula, or may become one, when a spreadsheet opens the CSV file. */
const FORMULA_STARTS = ['=', '+', '-', '@', '\t', '\r', '\n']
const FORMULA_SQL = FORMULA_STARTS.map(start => `chr(${start.charCodeAt(0)})`).join(', ')
const GUARD = `'`

const guardedValue = (column: ExportColumn): string => {
  const value = csvValue(column)
  return column.kind === 'text' ? `case when left(${value}, 1) in (${FORMULA_SQL}) then '''' || (${value}) else ${value} end` : value
}

/** The text with a quote before it where a spreadsheet may take it for a formula. */
export const guardedText = (text: string): string => (FORMULA_STARTS.includes(text.charAt(0)) ? `${GUARD}${text}` : text)

/** The text without the quote that a guarded file has before it. No id of a user begins with a quote. */
export const unguarded = (text: string): string =>
  text.startsWith(GUARD) && FORMULA_STARTS.includes(text.charAt(1)) ? text.slice(1) : text

/** A Parquet file is written from CSV. An amount that DECIMAL(18,6) cannot represent becomes null, and does not fail the export. */
const parquetValue = (column: ExportColumn): string => {
  if (column.kind !== 'amount') return csvValue(column)
  const rounded = `round(${column.sql}, 6)`
  return `case when abs(${rounded}) < 1e12 then ${rounded} end`
}

const jsonValue = ({ sql, kind }: ExportColumn): string => {
  if (kind === 'time') return `to_char(${sql} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
  if (kind === 'amount') return `(${sql})::text`
  return kind === 'json' ? `(${sql})::json` : sql
}

/** `Price USD` -> `price_usd` */
export const jsonKey = ({ header }: Pick<ExportColumn, 'header'>): string => header.toLowerCase().replaceAll(' ', '_')
export const USER_KEY = jsonKey({ header: USER_HEADER })

const STORE_APP = (platform: string, field: string) =>
  `(select fields ->> '${field}' from store_configs c where c.project = p.id and c.platform = '${platform}') as ${field}`

const EVENTS_FROM = (onlyValues: boolean) => `
  from events e
  left join users u on u.environment = e.environment and u.id = e.user_id
  cross join (select p.name, ${STORE_APP('apple', 'bundle_id')}, ${STORE_APP('google', 'package_name')} from projects p join environments v on v.project = p.id where v.id = ${plain('environment', 'int')} offset 0) p
  where e.environment = ${plain('environment', 'int')}
    and (e.received_at, e.partition, e.log_offset)
      > (${plain('after_at', 'timestamptz')}, ${plain('after_1', 'smallint')}, ${plain('after_2', 'bigint')})
    and (e.received_at, e.partition, e.log_offset)
      <= (${plain('upto_at', 'timestamptz')}, ${plain('upto_1', 'smallint')}, ${plain('upto_2', 'bigint')})
    and e.log_offset >= (${setting('from_offsets', 'bigint[]')})[e.partition + 1]
    and e.log_offset < (${setting('to_offsets', 'bigint[]')})[e.partition + 1]
    and (${setting('platforms', 'text')} = '' or e.platform = any (string_to_array(${setting('platforms', 'text')}, ',')))
    and ${isMember('e', 'user_id')}
    ${onlyValues ? `and e.name in (${VALUE_SLUGS.map(slug => `'${slug}'`).join(', ')})` : ''}
  order by e.received_at, e.partition, e.log_offset`

// The same rule as the segment metric `subscription_state`.
const CUSTOMER_FACTS = `
  select round(u.net_payments_usd, 2) as revenue_usd, u.payments_count as purchases, coalesce((
    select b.state from (
      select case when t.state = 'paid' then 'active' when t.state in ('grace', 'retry') then 'billing_retry' when t.state = 'trial' then 'trial'
        when t.state = 'ended' and t.ever_paid then 'expired' end as state
      from (select s.ever_paid, subscription_state(s.state_at, s.states, n.now) as state
            from subscriptions s where s.environment = u.environment and s.user_id = u.id) t) b
    where b.state is not null order by array_position(array['active', 'billing_retry', 'trial', 'expired'], b.state) limit 1), 'none') as subscription_state`

// No column shows anything but the user and its subscriptions, and a transaction that changes their state also writes the user. Grants,
// shares of purchases and the products of entitlements change no row of the file. A state that begins or ends by the mere passing of time
// changes the user only when a job has noticed it. The clock of an environment is never behind real time.
const HAS_CHANGED = `(u.changed_at >= ${setting('updated_from', 'timestamptz')} or (select 1 from subscriptions s cross join lateral unnest(s.state_at) at
      where s.environment = u.environment and s.user_id = u.id and at >= ${setting('updated_from', 'timestamptz')} and at <= n.now limit 1) is not null)`

const CUSTOMERS_FROM = `
  from users u
  join environments v on v.id = u.environment
  cross join (select environment_now(${plain('environment', 'int')}) as now) n
  cross join lateral (${CUSTOMER_FACTS}) f
  where ${USERS_OF_PART}
    and ${HAS_CHANGED}
    and (${setting('platforms', 'text')} = '' or u.platform = any (string_to_array(${setting('platforms', 'text')}, ',')))
  order by ${USERS_ORDER}`

/** The content of a file: its rows by `type`, its columns by `type` and `include`. `formulaGuard` concerns the texts of a CSV file only. */
export type FileShape = { type: ExportType; format: ExportFormat; include?: readonly IncludedColumn[]; formulaGuard?: boolean }

const CONTENTS: Record<ExportType, { columns: readonly ExportColumn[]; from: string }> = {
  events: { columns: EVENT_EXPORT_COLUMNS, from: EVENTS_FROM(false) },
  purchases: { columns: EVENT_EXPORT_COLUMNS, from: EVENTS_FROM(true) },
  customers: { columns: CUSTOMER_EXPORT_COLUMNS, from: CUSTOMERS_FROM },
  purchases_state: { columns: PURCHASE_STATE_COLUMNS, from: PURCHASE_STATE_FROM },
  subscriptions: { columns: SUBSCRIPTION_COLUMNS, from: SUBSCRIPTIONS_FROM },
  entitlements: { columns: ENTITLEMENT_COLUMNS, from: ENTITLEMENTS_FROM },
}

export const exportColumnsOf = ({ type, include = [] }: Pick<FileShape, 'type' | 'include'>): readonly ExportColumn[] => [
  ...CONTENTS[type].columns,
  ...sortedIncluded(include).map(name => INCLUDED_COLUMNS[name]),
]

/** A plain select of the rows of one part, in the file's order. The bench gives the same statement to psql. */
export const selectRows = (shape: FileShape, range: PartRange): string => withRange(selectOf(shape), range)

function selectOf({ type, format, include, formulaGuard }: FileShape): string {
  const columns = exportColumnsOf({ type, include })
  const csv = formulaGuard ? guardedValue : csvValue
  const { from } = CONTENTS[type]
  if (format === 'csv') return `select ${columns.map(c => `${csv(c)} as "${c.header}"`).join(', ')} ${from}`
  if (format === 'parquet') return `select ${columns.map(c => `${parquetValue(c)} as ${jsonKey(c)}`).join(', ')} ${from}`
  // json: every row begins with a comma; the writer drops the first one.
  return `select ${format === 'json' ? `',' || ` : ''}row_to_json(r)::text from (select ${columns.map(c => `${jsonValue(c)} as ${jsonKey(c)}`).join(', ')} ${from}) r`
}

// JSON is copied in the CSV format. Its quote and its delimiter are control characters, which JSON text escapes, so the text stays
// unchanged. COPY's own text format would double every backslash.
const COPY_OPTIONS = { csv: 'format csv', json: `format csv, quote e'\\x01', delimiter e'\\x02'` }

/** The rows of a part as text. COPY takes no parameters, so the values of the range are literals. */
export const copyRows = (shape: FileShape, range: PartRange): string =>
  `copy (${selectRows(shape, range)}) to stdout with (${shape.format === 'csv' || shape.format === 'parquet' ? COPY_OPTIONS.csv : COPY_OPTIONS.json})`

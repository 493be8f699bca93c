import { automationsWithRuns, UNFINISHED_RUN } from '../../automations/automation-runs/run.ts'
import { type LedgerKind, meaningSql } from '../../durable/ledger-history/history.ts'
import { OPEN_DELIVERY } from '../../integrations/deliveries/delivery.ts'
import { EXPORT_REASON } from '../../reporting/exports/export.ts'

const LEDGER_STATES = ['kept', 'declined', 'broken', 'outstanding', 'overdue', 'held'] as const
export type LedgerState = (typeof LEDGER_STATES)[number]

/** How many entries of an index a page reads of each automation or integration, and of other lists. */
const SCANNED = 1_000

// Of the environment $1 in the window [$2, $3), before the row ($9, $10). Each range ends in the order of one index. The beginning of the window
// stands in the range of that index as well: as a filter alone it would not end the scan.

const ended = (open: string) => `case when status not in ${open} then status end`
const columns = {
  report_slots: `slot as at, id, case when status = 'finished' then outcome end as outcome, coalesce(reason, '') as reason, null::timestamptz as due_at,
    report_id as parent, null::int as integration, null::text as user_id`,
  automation_runs: `created_at as at, id, ${ended(UNFINISHED_RUN)} as outcome, coalesce(reason, '') as reason, due_at, automation_id as parent,
    null::int as integration, user_id`,
  deliveries: `created_at as at, id, ${ended(OPEN_DELIVERY)} as outcome, coalesce(reason, '') as reason, next_attempt_at as due_at, null::text as parent,
    integration, user_id`,
  exports: `created_at as at, id, ${ended(`('new', 'processing')`)} as outcome, coalesce(${EXPORT_REASON}, '') as reason,
    null::timestamptz as due_at, report_run as parent, null::int as integration, null::text as user_id`,
} satisfies Record<LedgerKind, string>

/** By an index without the id: the entries of one time are read together. */
const newestTogether = (kind: 'report_slots' | 'deliveries', table: string, at: string, only: string) => `
  select '' as part, ${columns[kind]} from ${table}
  where ${only} and environment = $1 and ${at} >= $2 and ${at} <= $9 and (${at}, id) < ($9, $10)
  order by ${at} desc fetch first ${SCANNED} rows with ties`

const NEWEST: Record<LedgerKind, string> = {
  report_slots: newestTogether('report_slots', 'report_runs', 'slot', `kind = 'scheduled'`),
  automation_runs: `
    select r.parent as part, r.* from (${automationsWithRuns('$1')}) k cross join lateral (
      select ${columns.automation_runs} from automation_runs
      where environment = $1 and (automation_id, created_at) >= (k.automation_id, $2) and (automation_id, created_at, id) < (k.automation_id, $9, $10)
      order by automation_id desc, created_at desc, id desc limit ${SCANNED}) r`,
  deliveries: newestTogether('deliveries', 'deliveries', 'created_at', 'true'),
  exports: `
    select '' as part, ${columns.exports} from exports
    where environment = $1 and created_at >= $2 and (created_at, id) < ($9, $10) order by created_at desc, id desc limit ${SCANNED}`,
}

/** Failed runs have a table of their own. */
const FAILED_RUNS = `
  select r.parent as part, r.* from (${automationsWithRuns('$1')}) k cross join lateral (
    select number from unsuccessful_runs
    where environment = $1 and (automation_id, status, created_at) >= (k.automation_id, 'failed', $2)
      and (automation_id, status, created_at, id) < (k.automation_id, 'failed', $9, $10)
    order by automation_id desc, status desc, created_at desc, id desc limit ${SCANNED}) u
  cross join lateral (select ${columns.automation_runs} from automation_runs where number = u.number limit 1) r`

const FAILED_DELIVERIES = `
  select d.integration::text as part, d.* from integrations i cross join lateral (
    select ${columns.deliveries} from deliveries
    where status = 'failed' and environment = $1 and (integration, created_at) >= (i.number, $2) and (integration, created_at, id) < (i.number, $9, $10)
    order by integration desc, created_at desc, id desc limit ${SCANNED}) d
  where i.environment = $1`

/** Numbers that are this near to the edge of a window may be of rows beyond it: they are given a moment before the time. */
const NEAR = 10_000
const numberAt = (condition: string, order: 'asc' | 'desc') =>
  `(select number from deliveries where environment = $1 and ${condition} order by created_at ${order} limit 1)`

/**
 * Open deliveries have an index in the order of their numbers, which is nearly that of their creation: within a moment many are made at once, by
 * several processes. Their list goes by the number alone, $10, or a page would leave out some of that moment.
 */
const openDeliveries = (only: string) => `
  select d.integration::text as part, d.* from integrations i
  cross join (select coalesce(${numberAt('created_at < $2', 'desc')} - ${NEAR}, 0) as low,
    coalesce(${numberAt('created_at >= $9', 'asc')} + ${NEAR}, 9223372036854775807) as high, nullif($10::text, '')::bigint as before) n
  cross join lateral (
    select ${columns.deliveries}, number from deliveries
    where integration = i.number and status in ${OPEN_DELIVERY} and number >= n.low and number <= least(n.high, n.before - 1)
      and created_at >= $2 and created_at < $9
    order by number desc limit ${SCANNED}) d
  where i.environment = $1 and ${only}`

/** Whether the list of a state goes by the numbers of the rows. */
export const isByNumber = (kind: LedgerKind, state: LedgerState): boolean =>
  kind === 'deliveries' && (state === 'outstanding' || state === 'held')

/** In SQL: the entries among which the rows of a state are, newest first; `part`: what they were read for, each part up to its limit. */
export function sourceOf(kind: LedgerKind, state: Exclude<LedgerState, 'overdue'>): string {
  if (kind === 'deliveries' && state === 'held') return openDeliveries('i.active <> 1 and i.deleted_at is null')
  if (kind === 'deliveries' && state === 'outstanding') return openDeliveries('true')
  if (kind === 'deliveries' && state !== 'kept') return FAILED_DELIVERIES
  return kind === 'automation_runs' && state === 'broken' ? FAILED_RUNS : NEWEST[kind]
}

/** In SQL: the row of an id, with the same columns. */
export const byId = (kind: LedgerKind, id: string): string => {
  const table = kind === 'report_slots' ? 'report_runs' : kind
  return `select ${columns[kind]} from ${table} where environment = $1 and id >= ${id} and id <= ${id} order by id limit 1`
}

/** In SQL: whether an entry has the state. */
export const hasState = (kind: LedgerKind, state: LedgerState): string => {
  const counted = kind === 'exports' ? 'parent is null and ' : ''
  if (state === 'outstanding' || state === 'held') return `${counted}outcome is null`
  return `${counted}outcome is not null and ${meaningSql(kind, 'outcome', 'reason')} = '${state}'`
}

/** In SQL: the horizon, before which not all entries were read: a part that is read up to its limit may have more. */
export const HORIZON = `
  select at, id from (
    select at, id, row_number() over (partition by part order by at desc, id desc) as n from scanned) s
  where n = ${SCANNED} order by at desc, id desc limit 1`
/** The same where the list goes by the number, which stands for the id. */
export const HORIZON_BY_NUMBER = `
  select at, number::text as id from (
    select at, number, row_number() over (partition by part order by number desc) as n from scanned) s
  where n = ${SCANNED} order by s.number desc limit 1`

import type { Db } from '../../../store/connect.ts'
import { GROUPS_OF_ENVIRONMENT } from '../../durable/jobs/groups.ts'
import { OVERDUE_SECONDS } from '../../durable/jobs/job.ts'
import { outwardFrom, outwardTo } from '../../durable/ledger-history/compact.ts'
import { type LedgerKind, meaningSql } from '../../durable/ledger-history/history.ts'
import type { Environment } from '../../kernel/environment.ts'
import { isoMicros } from '../../kernel/time/instant.ts'
import type { LedgerWindow } from './counts.ts'
import { OVERDUE } from './overdue.ts'
import { sameTime } from './read.ts'
import { byId, HORIZON, HORIZON_BY_NUMBER, hasState, isByNumber, type LedgerState, sourceOf } from './row-sources.ts'
import { UNTAKEN, type UntakenSlots, untakenSlots } from './untaken.ts'

/** What a row belongs to; `name` null: it is gone. */
type Parent = { id: string; name: string | null }
/** `id` null: a slot that no worker has taken. `at`: since when it counts. `outcome` null: it has not ended. */
export type LedgerRow = {
  micros: number
  id: string | null
  /** Of a list that goes by it. */
  number: number | null
  due_at: string | null
  outcome: string | null
  reason: string | null
  user_id: string | null
  parent: Parent | null
}
/** `removed`: how many more of the window the ledger counts, whose rows are not stored any more. */
export type LedgerRows = { rows: LedgerRow[]; removed: number; next: string | null; restarted: boolean; window: LedgerWindow }
type Asked = { kind: LedgerKind; state: LedgerState; outcome: string | undefined; reason: string | undefined }
type Request = Asked & { limit: number; after: string | undefined }

type Place = { micros: number; id: string }
type Read = { rows: LedgerRow[]; horizon: Place | null; removed: number; untaken: UntakenSlots[]; from: string; to: string }

const named = (table: string, column: string) =>
  `(select jsonb_build_object('id', p.parent, 'name', (select ${column} from ${table} t where t.environment = $1 and t.id >= p.parent and t.id <= p.parent
    order by t.id limit 1)))`
const PARENT: Record<LedgerKind, string> = {
  report_slots: named('scheduled_reports', 't.report_name'),
  automation_runs: named('automations', 't.name'),
  deliveries: `(select jsonb_build_object('id', t.id, 'name', t.title) from integrations t where t.number = p.integration)`,
  exports: 'null::jsonb',
}

const micros = (at: string) => `(extract(epoch from ${at}) * 1000000)::bigint`
const ONLY = `($12::text is null or outcome = $12) and ($13::text is null or reason = $13)`

/** Ended ones whose rows are removed, of the same state. */
const removedSql = (kind: LedgerKind, state: LedgerState) => {
  if (state === 'outstanding' || state === 'overdue' || state === 'held') return '0'
  const of = (table: string, only: string) => `select count from ${table}
    where environment = $1 and kind = '${kind}' and ${only} and due_at >= $2 and due_at < $3 and ${meaningSql(kind, 'outcome', 'reason')} = '${state}' and ${ONLY}`
  return `(select coalesce(sum(count), 0)::bigint from (
    ${of('ledger_history', 'true')} union all ${of('ledger_compacted', `span in ('hour', 'day')`)}) gone)`
}

// What is overdue has neither an outcome nor a reason.
const overduePage = (kind: LedgerKind) => `
  with recursive ${GROUPS_OF_ENVIRONMENT}, overdue as (${OVERDUE}), horizon as (select null::timestamptz as at, null::text as id where false), page as (
    select o.at as since, r.* from (
      select at, id from overdue where kind = '${kind}' and (at, id collate "C") > ($9::timestamptz, $10::text)
        and $12::text is null and $13::text is null order by at, id collate "C" limit $11) o
    cross join lateral (${byId(kind, 'o.id')}) r
  )`

const pageSql = (kind: LedgerKind, state: Exclude<LedgerState, 'overdue'>) => {
  const [horizon, order, isOlder] = isByNumber(kind, state)
    ? [HORIZON_BY_NUMBER, 'number desc', 's.number < h.id::bigint']
    : [HORIZON, 'at desc, id desc', '(s.at, s.id) < (h.at, h.id)']
  return `
  with scanned as materialized (${sourceOf(kind, state)}), horizon as (${horizon}), page as (
    select at as since, s.* from scanned s
    where ${hasState(kind, state)} and ${ONLY} and not exists (select from horizon h where ${isOlder})
    order by ${order} limit $11
  )`
}

const place = (of: string) => `jsonb_build_object('micros', ${micros(`${of}.at`)}, 'id', ${of}.id)`

const orderOf = (kind: LedgerKind, state: LedgerState) => {
  if (state === 'overdue') return 'p.since, p.id collate "C"'
  return isByNumber(kind, state) ? 'p.number desc' : 'p.since desc, p.id collate "C" desc'
}

const statement = (kind: LedgerKind, state: LedgerState) => `${state === 'overdue' ? overduePage(kind) : pageSql(kind, state)}
  select
    (select coalesce(jsonb_agg(jsonb_build_object('micros', ${micros('p.since')}, 'id', p.id, 'number', ${isByNumber(kind, state) ? 'p.number' : 'null'},
        'due_at', p.due_at, 'outcome', p.outcome, 'reason', nullif(p.reason, ''), 'user_id', p.user_id, 'parent', ${PARENT[kind]})
      order by ${orderOf(kind, state)}), '[]') from page p) as rows,
    (select ${place('h')} from horizon h) as horizon, ${removedSql(kind, state)} as removed, ${UNTAKEN} as untaken,
    ${outwardFrom('$7', '$1', '$4')} as "from", ${outwardTo('$8', '$1', '$4')} as "to",
    $6::float8 as tolerance`

const CURSOR = /^(\d{1,16})\.([A-Za-z0-9._-]{1,256})$/

const NUMBER = /^\d{1,18}$/

/** A cursor of a list by numbers has the number in place of the id. */
function placeOf(text: string | undefined, byNumber: boolean): Place | null {
  const [, at, id] = CURSOR.exec(text ?? '') ?? []
  if (id === undefined || !Number.isSafeInteger(Number(at)) || (byNumber && !NUMBER.test(id))) return null
  return { micros: Number(at), id }
}

const idOf = ({ id, parent }: LedgerRow) => id ?? parent!.id
const placeOfRow = (row: LedgerRow): Place => ({ micros: row.micros, id: row.number === null ? idOf(row) : String(row.number) })
const compare = (one: Place, other: Place) => one.micros - other.micros || sign(one.id, other.id)
const sign = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)
const inOrder = (one: LedgerRow, other: LedgerRow) => compare(placeOfRow(one), placeOfRow(other))

/** Slots that no worker has taken are outstanding, and overdue when their time is over. */
function untakenRows(untaken: UntakenSlots[], { state, outcome, reason }: Asked, window: LedgerWindow): LedgerRow[] {
  if ((state !== 'outstanding' && state !== 'overdue') || outcome !== undefined || reason !== undefined) return []
  const late = Date.parse(window.now) - (state === 'overdue' ? OVERDUE_SECONDS * 1000 : -1)
  return untaken.flatMap(report =>
    untakenSlots(report, window)
      .filter(at => at < late)
      .map(at => ({
        ...{ micros: at * 1000, id: null, number: null, due_at: null, outcome: null, reason: null, user_id: null },
        parent: { id: report.id, name: report.name },
      })),
  )
}

/**
 * A page of the rows that the ledger counts, newest first, of overdue ones the oldest first. It reads a limited part of the indexes: a page may
 * have fewer rows than `limit`, or none, and still be followed by another one. The window is that of `readLedger`.
 */
export async function readLedgerRows(
  listing: Db,
  environment: Environment,
  request: Request,
  requested: LedgerWindow,
): Promise<LedgerRows> {
  const { kind, state, outcome, reason, limit, after } = request
  const byNumber = isByNumber(kind, state)
  const cursor = placeOf(after, byNumber)
  const isOldestFirst = state === 'overdue'
  for (let window = requested; ; ) {
    const { from, to, now } = window
    const isWithin = cursor !== null && (isOldestFirst || cursor.micros < Date.parse(to) * 1000)
    const start = isOldestFirst ? '-infinity' : to
    const [at, id] = isWithin ? [byNumber ? to : isoMicros(cursor.micros), cursor.id] : [start, '']
    const { rows } = await listing.query<Read>({
      name: `ledger-rows-${kind}-${state}`,
      text: statement(kind, state),
      values: [
        environment,
        from,
        to,
        [kind],
        now,
        OVERDUE_SECONDS,
        requested.from,
        requested.to,
        at,
        id,
        limit + 1,
        outcome ?? null,
        reason ?? null,
      ],
    })
    const read = rows[0]!
    if (!sameTime(read.from, from) || !sameTime(read.to, to)) {
      window = { ...requested, from: read.from, to: read.to }
      continue
    }
    const isOfPage = (row: LedgerRow) => {
      const order = cursor === null ? 0 : compare(placeOfRow(row), cursor)
      const isBeyond = cursor === null || (isOldestFirst ? order > 0 : order < 0)
      return isBeyond && (read.horizon === null || compare(placeOfRow(row), read.horizon) >= 0)
    }
    const untaken = untakenRows(read.untaken, request, window).filter(isOfPage)
    const taken = read.rows
    const all = untaken.length === 0 ? taken : [...taken, ...untaken].sort(isOldestFirst ? inOrder : (one, other) => inOrder(other, one))
    const shown = all.slice(0, limit)
    const last = all.length > limit ? shown.at(-1)! : null
    const end = last ? placeOfRow(last) : read.horizon
    return {
      rows: shown,
      removed: read.removed,
      next: end && `${end.micros}.${end.id}`,
      restarted: after !== undefined && cursor === null,
      window,
    }
  }
}

import type { Db, Pool, Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { CANCEL_DUE } from '../automation-runs/cancel.ts'
import { DELIVERY_DUE, firstDue } from '../deliveries/delivery.ts'
import { DELETION_DUE } from '../deliveries/fail-pending.ts'
import { lockOrderingKeys } from '../deliveries/ordering-key.ts'
import { IS_ORPHANED_EXPORT, mendExports } from '../exports/orphans.ts'
import { recreateJobs } from '../jobs/job.ts'
import { AUTOMATION_RUN_DUE } from '../jobs/wake-runs.ts'
import { IS_ORPHANED_RUN, mendReportRuns } from '../reports/orphans.ts'
import { REPORT_SLOT } from '../reports/report.ts'

// What is unfinished and has no `due` row, nor a run that has one: nothing will ever move it. It must never happen; should it, it is
// found and mended. Looked for in one snapshot, in which whoever makes, moves or ends a promise has done all of it or nothing; mended
// under the row's lock, if it still is so.

/** `after`: where the last look ended, as the index has it; null: at the beginning. */
type ScanCursor = unknown[] | null
type Ids = (number | string)[]
type Look = { ids: Ids; seen: number; last: ScanCursor }
/** `mend`: the missing `due` rows, whose ids were found; or what else is to be done about the found. */
type Kind = { kind: string; look: string; start: unknown[]; mend: string | ((tx: Tx, ids: string[]) => Promise<number>) }

const without = (kind: string, id: string) => `not exists (select 1 from due d where d.kind = ${kind} and d.id = ${id})`
const look = (columns: string[], from: string, orphan: string, id: string) => `
  select coalesce(array_agg(${id} order by ${id}) filter (where ${orphan}), '{}') as ids, count(*)::int as seen,
    (array_agg(jsonb_build_array(${columns.join(', ')}) order by ${columns.map(c => `${c} desc`).join(', ')}))[1] as last
  from (select * from ${from} order by ${columns.join(', ')} limit $1) s`

const OPEN_RUN = `status in ('pending', 'running', 'waiting')`
const OPEN_DELIVERY = `status in ('pending', 'retrying')`

// Behind the one of its lane that is promised a delivery has none of its own.
const IN_LANE = (d: string) => `${d}.source = 'event' and ${d}.user_id is not null`
const LANE_MOVES = (d: string) => `${IN_LANE(d)} and exists (
  select 1 from deliveries o join due p on p.kind = '${DELIVERY_DUE}' and p.id = o.number
  where o.integration = ${d}.integration and o.user_id = ${d}.user_id and o.source = 'event' and o.${OPEN_DELIVERY})`

// What is open of a deleted one is failed in time, without promises of its own.
const IS_TAKEN = (d: string) => `exists (select 1 from integrations i where i.number = ${d}.integration and i.deleted_at is null)`

const KINDS: Kind[] = [
  {
    kind: AUTOMATION_RUN_DUE,
    start: [0],
    // All of them: no index tells which are open, because every run would have to be taken out of it again.
    look: look(
      ['number'],
      'automation_runs where number > $2::bigint',
      `s.${OPEN_RUN} and ${without(`'${AUTOMATION_RUN_DUE}'`, 's.number')}`,
      'number',
    ),
    mend: `select '${AUTOMATION_RUN_DUE}', number, environment, coalesce(due_at, environment_now(environment)), null::int
           from automation_runs where number = any ($1) and ${OPEN_RUN} order by number for update`,
  },
  {
    kind: DELIVERY_DUE,
    start: [0, 0],
    look: look(
      ['integration', 'number'],
      `deliveries where ${OPEN_DELIVERY} and (integration, number) > ($2::int, $3::bigint)`,
      `${without(`'${DELIVERY_DUE}'`, 's.number')} and not (${LANE_MOVES('s')}) and ${IS_TAKEN('s')}`,
      'number',
    ),
    // Of a lane the first alone.
    mend: `select '${DELIVERY_DUE}', v.number, v.environment, ${firstDue('coalesce(v.next_attempt_at, v.created_at)')}, v.integration
           from deliveries v join integrations i on i.number = v.integration and i.deleted_at is null
           where v.number = any ($1) and v.${OPEN_DELIVERY} and not (${LANE_MOVES('v')})
             and not (${IN_LANE('v')} and exists (select 1 from deliveries o where o.integration = v.integration and o.user_id = v.user_id
               and o.source = 'event' and o.${OPEN_DELIVERY} and o.log_offset < v.log_offset))
           order by v.number for update of v`,
  },
  {
    kind: 'run',
    start: [0],
    look: look(['id'], 'runs where finished_at is null and id > $2::bigint', without('s.workflow', 's.id'), 'id'),
    mend: `select workflow, id, environment, environment_now(environment), null::int
           from runs where id = any ($1) and finished_at is null order by id for update`,
  },
  {
    kind: REPORT_SLOT,
    start: [0],
    look: look(
      ['number'],
      `scheduled_reports where next_slot is not null and deleted_at is null and status = 'active' and number > $2::bigint`,
      without(`'${REPORT_SLOT}'`, 's.number'),
      'number',
    ),
    mend: `select '${REPORT_SLOT}', number, environment, next_slot, null::int from scheduled_reports
           where number = any ($1) and next_slot is not null and deleted_at is null and status = 'active' order by number for update`,
  },
  {
    kind: DELETION_DUE,
    start: [0],
    look: look(
      ['number'],
      'integrations where deleted_at is not null and number > $2::int',
      `${without(`'${DELETION_DUE}'`, 's.number')} and exists (select 1 from deliveries v where v.integration = s.number and v.${OPEN_DELIVERY})`,
      'number',
    ),
    mend: `select '${DELETION_DUE}', number, environment, environment_now(environment), null::int
           from integrations where number = any ($1) and deleted_at is not null order by number for update`,
  },
  {
    kind: CANCEL_DUE,
    start: [0],
    look: look(['number'], 'automation_cancellations where number > $2::bigint', without(`'${CANCEL_DUE}'`, 's.number'), 'number'),
    mend: `select '${CANCEL_DUE}', number, environment, environment_now(environment), null::int
           from automation_cancellations where number = any ($1) order by number for update`,
  },
  {
    kind: 'report-run',
    start: [0, ''],
    look: look(
      ['environment', 'id'],
      `report_runs where status <> 'finished' and (environment, id) > ($2::int, $3::text)`,
      IS_ORPHANED_RUN,
      'id',
    ),
    mend: mendReportRuns,
  },
  {
    kind: 'export',
    start: [0, ''],
    look: look(
      ['environment', 'id'],
      `exports where status in ('new', 'processing') and (environment, id) > ($2::int, $3::text)`,
      IS_ORPHANED_EXPORT,
      'id',
    ),
    mend: mendExports,
  },
]

export type Orphans = { kind: string; ids: Ids; mended: number }
/** Where each kind's next look begins. */
export type ScanCursors = Map<string, ScanCursor>

async function mend(pool: Pool, { kind, mend: rows }: Kind, ids: Ids): Promise<number> {
  return transaction(pool, async tx => {
    if (typeof rows === 'function') return rows(tx, ids.map(String))
    if (kind === DELIVERY_DUE) await lockOrderingKeysOf(tx, ids)
    return recreateJobs(tx, rows, [ids])
  })
}

// Whoever adds to a lane, or ends its head, holds it: what is in it is looked at afterwards.
async function lockOrderingKeysOf(db: Tx, ids: Ids): Promise<void> {
  const { rows } = await db.query<{ environment: number; integration: number; user: string }>(
    `select distinct environment, integration, user_id as "user" from deliveries v where number = any ($1) and ${IN_LANE('v')}`,
    [ids],
  )
  await lockOrderingKeys(db, rows)
}

async function lookFor(db: Db, { look, start }: Kind, place: ScanCursor, batch: number): Promise<Look> {
  const { rows } = await db.query<Look>(look, [batch, ...(place ?? start)])
  return rows[0]!
}

/**
 * Looks at the next `batch` unfinished things of each kind, and mends what nothing would have moved. From where the last look ended, so
 * that millions that wait for days cost a look no more than a few.
 */
export async function mendOrphans(pool: Pool, places: ScanCursors, batch: number): Promise<Orphans[]> {
  const found: Orphans[] = []
  for (const kind of KINDS) {
    const { ids, seen, last } = await lookFor(pool, kind, places.get(kind.kind) ?? null, batch)
    places.set(kind.kind, seen < batch ? null : last)
    if (ids.length > 0) found.push({ kind: kind.kind, ids, mended: await mend(pool, kind, ids) })
  }
  return found
}

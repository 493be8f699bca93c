import type { Db, Pool, Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { CANCEL_DUE } from '../automation-runs/cancel.ts'
import { RUN_RELEASE_DUE } from '../automation-runs/release.ts'
import { UNFINISHED_RUN } from '../automation-runs/run.ts'
import { DELIVERY_DUE, firstDue, OPEN_DELIVERY } from '../deliveries/delivery.ts'
import { DELETION_DUE } from '../deliveries/fail-pending.ts'
import { lockOrderingKeys } from '../deliveries/ordering-key.ts'
import { IS_ORPHANED_EXPORT, repairExports } from '../exports/orphans.ts'
import { recreateJobs } from '../jobs/job.ts'
import { AUTOMATION_RUN_DUE } from '../jobs/wake-runs.ts'
import { IS_ORPHANED_REPORT_RUN, repairReportRuns } from '../reports/orphans.ts'
import { REPORT_SLOT } from '../reports/report.ts'
import { nextTurnOfLane, STORE_LANE_DUE } from '../store-inbox/lanes.ts'
import { type BlockProgress, lookAtRunBlocks, newBlockProgress } from './run-blocks.ts'

// An orphan is unfinished, but has no job and no run with a job: nothing will ever continue it. Orphans must never exist; if one does, the
// scan finds it and repairs it. The scan reads one snapshot, in which every transaction that inserts, reschedules or ends a job has done all
// of it or nothing. The repair locks the row and checks it again.

type Ids = (number | string)[]
/** The columns of the index that the scan follows, as its last row had them; null: the scan begins with the first row. */
type ScanCursor = unknown[] | null

type OrphanKind = {
  kind: string
  /** Reads the next `$1` unfinished rows after the cursor. */
  scan: string
  /** A cursor before the first row. */
  start: unknown[]
  /** Selects the jobs that the rows `$1` lack, for `recreateJobs`; or does what else the rows need and gives how many it has repaired. */
  repair: string | ((tx: Tx, ids: string[]) => Promise<number>)
}

const hasNoJob = (kind: string, id: string) => `not exists (select 1 from due d where d.kind = ${kind} and d.id = ${id})`

/** `columns`: those of the cursor. `isOrphan`: a condition on the row `s`. */
const scanSql = (columns: string[], from: string, isOrphan: string, id: string) => `
  select coalesce(array_agg(${id} order by ${id}) filter (where ${isOrphan}), '{}') as ids, count(*)::int as read,
    (array_agg(jsonb_build_array(${columns.join(', ')}) order by ${columns.map(c => `${c} desc`).join(', ')}))[1] as last
  from (select * from ${from} order by ${columns.join(', ')} limit $1) s`

/** Scans the runs after those that are noted in blocks. */
const AUTOMATION_RUNS: OrphanKind = {
  kind: AUTOMATION_RUN_DUE,
  start: [0],
  scan: scanSql(
    ['number'],
    'automation_runs where number > $2::bigint',
    `s.status in ${UNFINISHED_RUN} and ${hasNoJob(`'${AUTOMATION_RUN_DUE}'`, 's.number')}`,
    'number',
  ),
  repair: `select '${AUTOMATION_RUN_DUE}', number, environment, coalesce(due_at, environment_now(environment)), null::int
           from automation_runs where number = any ($1) and status in ${UNFINISHED_RUN} order by number for update`,
}

const hasOrderingKey = (d: string) => `${d}.source = 'event' and ${d}.user_id is not null`
/** Whether a delivery of the same ordering key has a job: the deliveries behind it have none. */
const followsAnother = (d: string) => `${hasOrderingKey(d)} and exists (
  select 1 from deliveries o join due p on p.kind = '${DELIVERY_DUE}' and p.id = o.number
  where o.integration = ${d}.integration and o.user_id = ${d}.user_id and o.source = 'event' and o.status in ${OPEN_DELIVERY})`

/** Only the first delivery of an ordering key gets a job. The job of a deleted integration fails the open deliveries; they have no jobs then. */
const DELIVERIES: OrphanKind = {
  kind: DELIVERY_DUE,
  start: [0, 0],
  scan: scanSql(
    ['integration', 'number'],
    `deliveries where status in ${OPEN_DELIVERY} and (integration, number) > ($2::int, $3::bigint)`,
    `${hasNoJob(`'${DELIVERY_DUE}'`, 's.number')} and not (${followsAnother('s')})
      and exists (select 1 from integrations i where i.number = s.integration and i.deleted_at is null)`,
    'number',
  ),
  repair: `select '${DELIVERY_DUE}', v.number, v.environment, ${firstDue('coalesce(v.next_attempt_at, v.created_at)')}, v.integration
           from deliveries v join integrations i on i.number = v.integration and i.deleted_at is null
           where v.number = any ($1) and v.status in ${OPEN_DELIVERY} and not (${followsAnother('v')})
             and not (${hasOrderingKey('v')} and exists (select 1 from deliveries o where o.integration = v.integration and o.user_id = v.user_id
               and o.source = 'event' and o.status in ${OPEN_DELIVERY} and o.log_offset < v.log_offset))
           order by v.number for update of v`,
}

const WORKFLOW_RUNS: OrphanKind = {
  kind: 'run',
  start: [0],
  scan: scanSql(['id'], 'runs where finished_at is null and id > $2::bigint', hasNoJob('s.job_kind', 's.id'), 'id'),
  repair: `select job_kind, id, environment, environment_now(environment), null::int
           from runs where id = any ($1) and finished_at is null order by id for update`,
}

/** An active report always has a next slot. */
const REPORT_SLOTS: OrphanKind = {
  kind: REPORT_SLOT,
  start: [0],
  scan: scanSql(
    ['number'],
    `scheduled_reports where next_slot is not null and deleted_at is null and status = 'active' and number > $2::bigint`,
    hasNoJob(`'${REPORT_SLOT}'`, 's.number'),
    'number',
  ),
  repair: `select '${REPORT_SLOT}', number, environment, next_slot, null::int from scheduled_reports
           where number = any ($1) and next_slot is not null and deleted_at is null and status = 'active' order by number for update`,
}

/** Deleted integrations with deliveries that have not been failed. */
const DELETED_INTEGRATIONS: OrphanKind = {
  kind: DELETION_DUE,
  start: [0],
  scan: scanSql(
    ['number'],
    'integrations where deleted_at is not null and number > $2::int',
    `${hasNoJob(`'${DELETION_DUE}'`, 's.number')}
      and exists (select 1 from deliveries v where v.integration = s.number and v.status in ${OPEN_DELIVERY})`,
    'number',
  ),
  repair: `select '${DELETION_DUE}', number, environment, environment_now(environment), null::int
           from integrations where number = any ($1) and deleted_at is not null order by number for update`,
}

/** What is done with all runs of an automation in steps; the row is deleted with the last step. */
const stepsOverRuns = (kind: string, table: string): OrphanKind => ({
  kind,
  start: [0],
  scan: scanSql(['number'], `${table} where number > $2::bigint`, hasNoJob(`'${kind}'`, 's.number'), 'number'),
  repair: `select '${kind}', number, environment, environment_now(environment), null::int
           from ${table} where number = any ($1) order by number for update`,
})
const CANCELLATIONS = stepsOverRuns(CANCEL_DUE, 'automation_cancellations')
const RUN_RELEASES = stepsOverRuns(RUN_RELEASE_DUE, 'automation_releases')

const lanesOfStores = (kind: string, from: string): OrphanKind => ({
  kind,
  start: [0],
  scan: scanSql(['id'], from, hasNoJob(`'${STORE_LANE_DUE}'`, 's.id'), 'id'),
  repair: `select '${STORE_LANE_DUE}', l.id, e.id, ${nextTurnOfLane('l')}, null::int
           from store_lanes l join environments e on e.project = l.project and e.kind = 'production'
           where l.id = any ($1) and ${nextTurnOfLane('l')} is not null order by l.id for update of l`,
})
const PENDING_LANES = lanesOfStores(
  STORE_LANE_DUE,
  `(select distinct lane as id from store_inbox where state = 'pending' and lane > $2::bigint) p`,
)
const CHECKED_LANES = lanesOfStores('store_check', 'store_lanes where next_check_at is not null and id > $2::bigint')

/** Runs of reports have no jobs; their workflows' runs have. */
const REPORT_RUNS: OrphanKind = {
  kind: 'report-run',
  start: [0, ''],
  scan: scanSql(
    ['environment', 'id'],
    `report_runs where status <> 'finished' and (environment, id) > ($2::int, $3::text)`,
    IS_ORPHANED_REPORT_RUN,
    'id',
  ),
  repair: repairReportRuns,
}

/** Exports have no jobs; their workflows' runs have. */
const EXPORTS: OrphanKind = {
  kind: 'export',
  start: [0, ''],
  scan: scanSql(
    ['environment', 'id'],
    `exports where status in ('new', 'processing') and (environment, id) > ($2::int, $3::text)`,
    IS_ORPHANED_EXPORT,
    'id',
  ),
  repair: repairExports,
}

const KINDS = [
  AUTOMATION_RUNS,
  DELIVERIES,
  WORKFLOW_RUNS,
  REPORT_SLOTS,
  DELETED_INTEGRATIONS,
  CANCELLATIONS,
  RUN_RELEASES,
  PENDING_LANES,
  CHECKED_LANES,
  REPORT_RUNS,
  EXPORTS,
]

/** `ids`: the orphans that the scan has found. */
type Orphans = { kind: string; ids: Ids; mended: number }
/** Of one kind: the cursor of the next scan, how many scans this pass has had, in how many looks, and how many scans a look has. */
type Pass = { cursor: ScanCursor; scans: number; looks: number; perLook: number; blocks: BlockProgress }
/** For each kind where its scans are. */
export type ScanCursors = Map<string, Pass>

/** Looks that a pass over all unfinished rows of a kind may have: five minutes of looks. */
const LOOKS_OF_PASS = 20

/**
 * Scans the next unfinished rows of each kind, `batch` in one statement, and repairs the orphans among them. Each scan continues where the
 * last one ended, with as many statements as it takes to reach every row within `LOOKS_OF_PASS` calls.
 */
export async function repairOrphans(pool: Pool, cursors: ScanCursors, batch: number): Promise<Orphans[]> {
  const found: Orphans[] = []
  for (const kind of KINDS) {
    const pass = cursors.get(kind.kind) ?? { cursor: null, scans: 0, looks: 0, perLook: 1, blocks: newBlockProgress() }
    cursors.set(kind.kind, pass)
    const ids = await look(pool, kind, pass, batch)
    if (ids.length > 0) found.push({ kind: kind.kind, ids, mended: await repair(pool, kind, ids) })
  }
  return found
}

async function look(pool: Pool, kind: OrphanKind, pass: Pass, batch: number): Promise<Ids> {
  const noted = kind === AUTOMATION_RUNS ? await lookAtRunBlocks(pool, pass.blocks) : null
  const start = noted ? [noted.upto] : kind.start
  const found: Ids = noted?.ids ?? []
  pass.looks++
  for (let n = 0; n < pass.perLook; n++) {
    const { ids, read, last } = await scan(pool, kind, pass.cursor ?? start, batch)
    found.push(...ids)
    pass.scans++
    pass.cursor = read < batch ? null : last
    if (pass.cursor === null) break
  }
  if (pass.cursor === null) Object.assign(pass, { scans: 0, looks: 0, perLook: Math.max(1, Math.ceil(pass.scans / LOOKS_OF_PASS)) })
  // The pass is longer than the last one was.
  else if (pass.looks % LOOKS_OF_PASS === 0) pass.perLook *= 2
  return [...new Set(found)]
}

type Scanned = { ids: Ids; read: number; last: ScanCursor }

async function scan(db: Db, kind: OrphanKind, cursor: unknown[], batch: number): Promise<Scanned> {
  const { rows } = await db.query<Scanned>(kind.scan, [batch, ...cursor])
  return rows[0]!
}

const repair = (pool: Pool, kind: OrphanKind, ids: Ids): Promise<number> =>
  transaction(pool, async tx => {
    if (typeof kind.repair === 'function') return kind.repair(tx, ids.map(String))
    if (kind === DELIVERIES) await lockOrderingKeysOf(tx, ids)
    return recreateJobs(tx, kind.repair, [ids])
  })

/** Every transaction that adds to an ordering key, or ends its head, locks the key: its deliveries are read after the lock. */
async function lockOrderingKeysOf(tx: Tx, ids: Ids): Promise<void> {
  const { rows } = await tx.query<{ environment: number; integration: number; user: string }>(
    `select distinct environment, integration, user_id as "user" from deliveries v where number = any ($1) and ${hasOrderingKey('v')}`,
    [ids],
  )
  await lockOrderingKeys(tx, rows)
}

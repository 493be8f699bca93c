import type { Db, Pool, Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { recreateJobs } from '../../durable/jobs/job.ts'
import { lockOrderingKeys } from '../../integrations/deliveries/ordering-key.ts'
import { AUTOMATION_RUNS, DELIVERIES, hasOrderingKey, ORPHAN_KINDS, type OrphanKind } from './orphan-kinds.ts'
import { type BlockProgress, lookAtRunBlocks, newBlockProgress } from './run-blocks.ts'

// An orphan is unfinished, but has no job and no run with a job: nothing will ever continue it. Orphans must never exist; if one does, the
// scan finds it and repairs it. The scan reads one snapshot, in which every transaction that inserts, reschedules or ends a job has done all
// of it or nothing. The repair locks the row and checks it again.

type Ids = (number | string)[]
/** The columns of the index that the scan follows, as its last row had them; null: the scan begins with the first row. */
type ScanCursor = unknown[] | null

/** `ids`: the orphans that the scan has found. */
type Orphans = { kind: string; ids: Ids; mended: number }
/** Of one kind: the cursor of the next scan, the number of scans and of calls in this pass, and the number of scans in a call. */
type Pass = { cursor: ScanCursor; scans: number; looks: number; perLook: number; blocks: BlockProgress }
/** The position of the scans of each kind. */
export type ScanCursors = Map<string, Pass>

/** Calls that a pass over all unfinished rows of a kind may take: five minutes of calls. */
const LOOKS_OF_PASS = 20

/**
 * Scans the next unfinished rows of each kind, `batch` in one statement, and repairs the orphans among them. Each scan continues where the
 * last one ended, with as many statements as it takes to reach every row within `LOOKS_OF_PASS` calls.
 */
export async function repairOrphans(pool: Pool, cursors: ScanCursors, batch: number): Promise<Orphans[]> {
  const found: Orphans[] = []
  for (const kind of ORPHAN_KINDS) {
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

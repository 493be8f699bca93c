import type { Db } from '../../../store/connect.ts'
import { UNFINISHED_RUN } from '../../automations/automation-runs/run.ts'
import { AUTOMATION_RUN_DUE } from '../../durable/jobs/wake-runs.ts'

// No index has the unfinished automation runs: every run would have to be deleted from it again. So the numbers are read once, in blocks,
// and the unfinished runs of a block are stored. A run that has ended stays ended: from then on only the stored runs are read, and nothing
// of a block without any.

/** Numbers of one block. */
export const RUNS_OF_BLOCK = 10_000
/** Calls within which all blocks are read: five minutes of calls, so that two passes in a row find a run that one of them has just missed. */
const LOOKS = 20
/** Stored runs that one statement looks up. */
const RUNS_AT_ONCE = 20_000
const BLOCKS_AT_ONCE = 500

/**
 * The position of the calls. A number is settled when every transaction that was open when the number was assigned has ended: a run with a
 * smaller number is visible then, or will never be. `perLook`: full blocks that a call stores; `after`: the last stored block that was
 * checked.
 */
export type BlockProgress = { settled: number; unsettled: { last: number; own: bigint } | null; perLook: number; after: number }

export const newBlockProgress = (): BlockProgress => ({ settled: 0, unsettled: null, perLook: 1, after: -1 })

type Numbers = { first: number | null; last: number; xmin: string; own: string }

// The transaction id of the statement itself is above those of all open transactions. The end of a snapshot is not: the transaction that
// began last may be open and have a higher id.
const NUMBERS = `select (select number from automation_runs order by number limit 1) as first,
  coalesce((select number from automation_runs order by number desc limit 1), 0) as last,
  pg_snapshot_xmin(s)::text as xmin, pg_current_xact_id()::text as own from pg_current_snapshot() s`

const NOTE = `
  insert into automation_run_blocks (block, unfinished)
  select $1, coalesce(array_agg(number order by number), '{}') from automation_runs
  where number >= $1::bigint * ${RUNS_OF_BLOCK} and number < ($1::bigint + 1) * ${RUNS_OF_BLOCK} and status in ${UNFINISHED_RUN}
  on conflict do nothing`

const LOOK = `
  with following as materialized (
    select block, unfinished, sum(count) over (order by block) - count as before from automation_run_blocks
    where count > 0 and block > $1 order by block limit ${BLOCKS_AT_ONCE}
  ), looked as materialized (
    select block, unfinished from following where before < ${RUNS_AT_ONCE}
  ), still as materialized (
    select l.block, n.number, not exists (select 1 from due d where d.kind = '${AUTOMATION_RUN_DUE}' and d.id = n.number) as is_orphan
    from looked l cross join lateral unnest(l.unfinished) n(number)
      cross join lateral (select 1 from automation_runs where number = n.number and status in ${UNFINISHED_RUN} limit 1) r
  ), noted as (
    update automation_run_blocks b set unfinished = coalesce((select array_agg(number order by number) from still s where s.block = l.block), '{}')
    from looked l where b.block = l.block and b.count <> (select count(*) from still s where s.block = l.block)
  )
  select coalesce((select array_agg(number order by number) from still where is_orphan), '{}') as ids,
    count(*)::int as blocks, max(block) as last from looked`

/** Returns the orphans among the stored runs that this call checks, and the last number of the blocks: the caller checks the runs after it. */
export async function lookAtRunBlocks(db: Db, progress: BlockProgress): Promise<{ ids: number[]; upto: number }> {
  const { first, last, xmin, own } = (await db.query<Numbers>(NUMBERS)).rows[0]!
  if (progress.unsettled && BigInt(xmin) >= progress.unsettled.own) {
    progress.settled = progress.unsettled.last
    progress.unsettled = null
  }
  progress.unsettled ??= { last, own: BigInt(own) }
  const full = Math.floor((progress.settled + 1) / RUNS_OF_BLOCK)
  if (first !== null) await noteBlocks(db, progress, Math.floor(first / RUNS_OF_BLOCK), full)
  return { ids: await lookAtNoted(db, progress), upto: full * RUNS_OF_BLOCK - 1 }
}

/** Reads and notes the next of the full blocks. Retention deletes the runs of the oldest ones. */
async function noteBlocks(db: Db, progress: BlockProgress, oldest: number, full: number): Promise<void> {
  const { rows } = await db.query<{ next: number }>(
    `with gone as (delete from automation_run_blocks where block < $1)
     select greatest($1::bigint, coalesce((select block + 1 from automation_run_blocks order by block desc limit 1), 0)) as next`,
    [oldest],
  )
  const { next } = rows[0]!
  progress.perLook = next < full ? Math.max(progress.perLook, Math.ceil((full - next) / LOOKS)) : 1
  const upto = Math.min(full, next + progress.perLook)
  for (let block = next; block < upto; block++) await db.query({ name: 'note-run-block', text: NOTE, values: [block] })
}

async function lookAtNoted(db: Db, progress: BlockProgress): Promise<number[]> {
  const { rows } = await db.query<{ count: number }>('select count(*)::int as count from automation_run_blocks where count > 0')
  const found: number[] = []
  for (let left = Math.ceil(rows[0]!.count / LOOKS); left > 0; ) {
    const looked = await db.query<{ ids: number[]; blocks: number; last: number | null }>(LOOK, [progress.after])
    const { ids, blocks, last } = looked.rows[0]!
    found.push(...ids)
    left -= blocks
    progress.after = last ?? -1
    if (last === null) break
  }
  return found
}

import { afterAll, beforeAll, expect, test } from 'vitest'
import { repairOrphans, type ScanCursors } from '../../domain/oversight/reconciliation/orphans.ts'
import { RUNS_OF_BLOCK } from '../../domain/oversight/reconciliation/run-blocks.ts'
import type { Db } from '../../store/connect.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { runRow } from '../harness/job-rows.ts'
import { rowsRead } from '../harness/rows-read.ts'
import { until } from '../harness/until.ts'

// 100 million automation runs at a scale of 1 : 1,000. A look takes place every 15 s: 40 looks are ten minutes.
const RUNS = 100_000
const LOOKS = 40
const BATCH = 20_000

let api: TestApi
let environment: number
beforeAll(async () => {
  api = await startApi()
  environment = api.project.production
})
afterAll(() => api.stop())

const insertEnded = (count: number, db: Db = api.pool) =>
  db.query(
    `insert into automation_runs (environment, id, automation_id, version, event_id, event_name, happened_at, received_at, partition, log_offset,
       position, status, created_at, finished_at)
     select $1, 'run_' || m || '_' || n, 'auto_a', 1, 'evt_' || m || '_' || n, 'x', now(), now(), 0, 0, 0, 'succeeded', now(), now()
     from generate_series(1, $2::int) n, (select coalesce(max(number), 0) from automation_runs) l(m)`,
    [environment, count],
  )

test('every orphan is found within ten minutes, and blocks of runs that have ended are read once', async () => {
  await insertEnded(RUNS / 2)
  const later = new Date(Date.now() + 9_999_999).toISOString()
  const waiting = await runRow(api.pool, environment, { at: later, status: 'waiting', dueAt: later })
  await insertEnded(RUNS / 2)
  const cursors: ScanCursors = new Map()
  const look = () => repairOrphans(api.pool, cursors, BATCH)
  const noted = async () => (await api.pool.query('select block, unfinished from automation_run_blocks order by block')).rows
  // Other tests on this server have transactions, too: a block is noted once those that were open are over.
  await until('all blocks', async () => {
    expect(await look()).toEqual([])
    return (await noted()).length === RUNS / RUNS_OF_BLOCK || undefined
  })
  expect((await noted()).filter(({ unfinished }) => unfinished.length > 0)).toEqual([{ block: 5, unfinished: [waiting.number] }])

  const read = async () => (await rowsRead([api.pool], ['automation_runs'])).automation_runs!
  const before = await read()
  for (let n = 0; n < LOOKS; n++) expect(await look()).toEqual([])
  // The waiting run at most once a look, and the run after the last block: not one of those that have ended.
  expect((await read()) - before).toBeLessThan(10 * LOOKS)

  await api.pool.query('delete from due')
  const found = []
  for (let n = 0; n < LOOKS; n++) found.push(...(await look()))
  expect(found).toEqual([{ kind: 'automation-run', ids: [waiting.number], mended: 1 }])

  await api.pool.query(
    `update automation_runs set status = 'succeeded', finished_at = now() where number = $1; delete from due`.replace(
      '$1',
      String(waiting.number),
    ),
  )
  for (let n = 0; n < LOOKS; n++) expect(await look()).toEqual([])
  expect((await noted()).every(({ unfinished }) => unfinished.length === 0)).toBe(true)
})

test('a run whose transaction commits after the numbers around it is found, too', async () => {
  const cursors: ScanCursors = new Map()
  const late = await api.pool.connect()
  try {
    await late.query('begin')
    const { rows } = await late.query<{ number: number }>(
      `insert into automation_runs (environment, id, automation_id, version, event_id, event_name, happened_at, received_at, partition, log_offset,
         position, created_at)
       values ($1, 'run_late', 'auto_a', 1, 'evt_late', 'x', now(), now(), 0, 0, 0, now()) returning number`,
      [environment],
    )
    await insertEnded(3 * RUNS_OF_BLOCK)
    for (let n = 0; n < 5; n++) expect(await repairOrphans(api.pool, cursors, BATCH)).toEqual([])
    await late.query('commit')
    const found = []
    for (let n = 0; n < LOOKS; n++) found.push(...(await repairOrphans(api.pool, cursors, BATCH)))
    expect(found).toEqual([{ kind: 'automation-run', ids: [rows[0]!.number], mended: 1 }])
  } finally {
    late.release(true)
  }
})

test('the same where its transaction is the youngest one', async () => {
  const cursors: ScanCursors = new Map()
  const [older, late] = [await api.pool.connect(), await api.pool.connect()]
  try {
    for (const db of [older, late]) {
      await db.query('begin')
      await db.query('select pg_current_xact_id()')
    }
    const { rows } = await late.query<{ number: number }>(
      `insert into automation_runs (environment, id, automation_id, version, event_id, event_name, happened_at, received_at, partition, log_offset,
         position, created_at)
       values ($1, 'run_youngest', 'auto_a', 1, 'evt_youngest', 'x', now(), now(), 0, 0, 0, now()) returning number`,
      [environment],
    )
    await insertEnded(3 * RUNS_OF_BLOCK, older)
    await older.query('commit')
    for (let n = 0; n < LOOKS; n++) expect(await repairOrphans(api.pool, cursors, BATCH)).toEqual([])
    await late.query('commit')
    const found = []
    for (let n = 0; n < LOOKS; n++) found.push(...(await repairOrphans(api.pool, cursors, BATCH)))
    expect(found).toEqual([{ kind: 'automation-run', ids: [rows[0]!.number], mended: 1 }])
  } finally {
    older.release(true)
    late.release(true)
  }
})

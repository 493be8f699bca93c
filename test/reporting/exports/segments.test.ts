import { parse } from 'csv-parse/sync'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FileStorage } from '../../../store/files/storage.ts'
import { pgBossQueue } from '../../../workers/pg-boss.ts'
import { startWorker, type Worker } from '../../../workers/worker.ts'
import { workflowHandlers } from '../../../workflows/engine/execute.ts'
import { exportWorkflow } from '../../../workflows/export/export.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { QUICK } from '../../harness/engine-fixture.ts'
import { item } from '../../harness/events.ts'
import { exportAll, WHOLE_YEAR } from '../../harness/exports.ts'
import { readParquet } from '../../harness/parquet.ts'

let api: TestApi
let worker: Worker
let germans: string
/** Called each time rows are about to be written. */
let meanwhile = async () => {}

beforeAll(async () => {
  api = await startApi()
  const writePart: FileStorage['writePart'] = async (...part) => {
    await meanwhile()
    return api.storage.writePart(...part)
  }
  worker = await startWorker({
    pool: api.pool,
    url: api.databaseUrl,
    queue: await pgBossQueue({ url: api.databaseUrl, onError: () => {} }),
    handlers: workflowHandlers([exportWorkflow({ pool: api.pool, storage: { ...api.storage, writePart }, partRows: 10 })], {
      pool: api.pool,
      policies: QUICK,
    }),
    leaseMs: 1000,
    log: pino({ level: 'silent' }),
  })
  const events = Array.from({ length: 60 }, (_, i) => {
    const who = `${i % 2 ? 'de' : 'fr'}${i % 20}`
    return item({ identity_id: who, device: { country: i % 2 ? 'DE' : 'FR' }, event_name: i % 3 ? 'in_app_purchase' : 'custom.thing' })
  })
  await api.call('POST', '/v4/events', { body: { events: [...events, item({ event_id: 'nobody' })] } })
  germans = await segment('DE')
})
afterAll(async () => {
  await worker.stop()
  await api.stop()
})

const segment = async (country: string): Promise<string> =>
  (
    await api.call('POST', '/v4/segments', {
      body: { name: country, conditions: [{ metric: 'country', comparator: 'eq', value: country }] },
    })
  ).body.id
const rowsOf = async (body: Record<string, unknown>, key?: string): Promise<Record<string, string>[]> =>
  parse((await exportAll(api, { ...WHOLE_YEAR, ...body }, key)).text, { columns: true })
const names = (rows: Record<string, unknown>[], column = 'User ID') => [...new Set(rows.map(row => row[column]))].sort()
const GERMANS = Array.from({ length: 10 }, (_, i) => `de${i * 2 + 1}`).sort()

test.each([
  ['events', 30],
  ['purchases', 20],
  ['customers', 10],
])('%s: only rows of members, none without user; the same as parquet', async (type, count) => {
  const rows = await rowsOf({ type, segment_id: germans })
  expect(rows).toHaveLength(count)
  expect(names(rows)).toEqual(GERMANS)
  const parquet = await exportAll(api, { ...WHOLE_YEAR, type, segment_id: germans, format: 'parquet' })
  const read = await readParquet(parquet.bytes)
  expect(read.rows.map(row => row.q_user_id)).toEqual(rows.map(row => row['Q User ID']))
  expect(parquet.object).toMatchObject({ segment_id: germans, rows_written: count, manifest: { rows: count } })
})

test('the members are fixed at the begin: users that join or leave the segment later change nothing', async () => {
  let changes = 0
  meanwhile = async () => {
    changes++
    await api.pool.query(`update users set country = case country when 'DE' then 'FR' else 'DE' end where environment = $1`, [
      api.project.production,
    ])
  }
  try {
    expect(names(await rowsOf({ segment_id: germans }))).toEqual(GERMANS)
  } finally {
    meanwhile = async () => {}
  }
  expect(changes).toBe(7)
  expect(names(await rowsOf({ segment_id: germans }))).not.toEqual(GERMANS)
  await api.pool.query(`update users set country = case when identity_id like 'de%' then 'DE' else 'FR' end where environment = $1`, [
    api.project.production,
  ])
})

test('a segment without users exports an empty file, a system segment its users', async () => {
  const none = await segment('IT')
  for (const type of ['events', 'purchases', 'customers']) expect(await rowsOf({ type, segment_id: none })).toEqual([])
  expect(await rowsOf({ type: 'customers', segment_id: 'active_trials' })).toEqual([])
  expect(await rowsOf({ type: 'customers', segment_id: 'churned_users' })).toEqual([])
  const all = await rowsOf({ type: 'customers' })
  const paid = await rowsOf({ type: 'customers', segment_id: 'never_paid' })
  const { rows } = await api.pool.query('select id from users where environment = $1 and payments_count = 0 order by created_at, id', [
    api.project.production,
  ])
  expect(paid.map(row => row['Q User ID'])).toEqual(rows.map(row => row.id))
  expect(all).toHaveLength(20)
})

test('the members are deleted when the export has ended, done or failed', async () => {
  meanwhile = async () => {
    throw Object.assign(new Error('full'), { code: 'ENOSPC' })
  }
  await expect(exportAll(api, { ...WHOLE_YEAR, segment_id: germans })).rejects.toThrow('storage_error')
  meanwhile = async () => {}
  await rowsOf({ segment_id: germans })
  expect((await api.pool.query('select count(*) as n from export_members')).rows).toEqual([{ n: 0 }])
})

test('a segment that is unknown or of another environment is not found; no export is accepted', async () => {
  const count = async () => (await api.pool.query('select count(*) as n from exports')).rows[0].n
  const before = await count()
  for (const [segment_id, key] of [
    ['seg_none', api.project.secret],
    [germans, api.project.sandbox],
    [germans, (await api.newProject()).secret],
  ] as const) {
    const answer = await api.call('POST', '/v4/exports', { body: { ...WHOLE_YEAR, segment_id }, key })
    expect([answer.status, answer.body.error.code]).toEqual([404, 'not_found'])
    expect(answer.body.error.message).toContain('segment_id')
  }
  expect(await count()).toBe(before)
})

test('fifty exports of a segment and its concurrent deletion: it is deleted only when no accepted export names it', async () => {
  const id = await segment('DE')
  const answers = await Promise.all([
    ...Array.from({ length: 25 }, () => api.call('POST', '/v4/exports', { body: { ...WHOLE_YEAR, segment_id: id } })),
    api.call('DELETE', `/v4/segments/${id}`),
    ...Array.from({ length: 25 }, () => api.call('POST', '/v4/exports', { body: { ...WHOLE_YEAR, segment_id: id } })),
  ])
  const removed = answers[25]!.status
  const accepted = answers.filter(answer => answer.status === 202).length
  expect([204, 409]).toContain(removed)
  for (const { status } of answers) expect([202, 204, 404, 409]).toContain(status)
  if (removed === 204) {
    const { rows } = await api.pool.query(`select count(*) as n from exports where segment_id = $1 and status in ('new', 'processing')`, [
      id,
    ])
    expect(rows).toEqual([{ n: 0 }])
  } else expect(accepted).toBe(50)
})

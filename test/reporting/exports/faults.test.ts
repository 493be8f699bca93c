import { mkdir, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { pgBossQueue } from '../../../workers/pg-boss.ts'
import { startWorker, type Worker } from '../../../workers/worker.ts'
import { workflowHandlers } from '../../../workflows/engine/execute.ts'
import { exportWorkflow } from '../../../workflows/export/export.ts'
import { exportRetention } from '../../../workflows/export/retention.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { QUICK } from '../../harness/engine-fixture.ts'
import { item } from '../../harness/events.ts'
import { finished, WHOLE_YEAR } from '../../harness/exports.ts'
import { until } from '../../harness/until.ts'

const PARTS = 5
let api: TestApi
let worker: Worker | undefined
beforeEach(async () => {
  api = await startApi()
  const events = Array.from({ length: PARTS * 10 - 1 }, (_, i) => item({ identity_id: `u${i}` }))
  await api.call('POST', '/v4/events', { body: { events } })
})
afterEach(async () => {
  await worker?.stop()
  worker = undefined
  await api.stop()
})

async function work(waits = QUICK.step.waits): Promise<void> {
  const { pool, storage } = api
  worker = await startWorker({
    pool,
    url: api.databaseUrl,
    queue: await pgBossQueue({ url: api.databaseUrl, onError: () => {} }),
    handlers: workflowHandlers([exportWorkflow({ pool, storage, partRows: 10 }), exportRetention({ storage })], {
      pool: pool,
      policies: { ...QUICK, step: { ...QUICK.step, waits } },
    }),
    leaseMs: 1000,
    log: pino({ level: 'silent' }),
  })
}

const accept = async (): Promise<string> => (await api.call('POST', '/v4/exports', { body: WHOLE_YEAR })).body.id
const part = (id: string, n: number, fence: number) => join(api.files, id, `${n}.${fence}`)
/** A full disk for this part, when the run writes it under this fence. */
async function fullDisk(id: string, n: number, fence: number): Promise<void> {
  await mkdir(join(api.files, id), { recursive: true })
  await symlink('/dev/full', part(id, n, fence))
}

test('a disk that is full once: the part is written again, no row is doubled', async () => {
  const id = await accept()
  await fullDisk(id, 3, 1)
  await work()
  const done = await finished(api.call, id)
  expect(done).toMatchObject({ status: 'done', rows_written: PARTS * 10 - 1, manifest: { rows: PARTS * 10 - 1 } })
  expect((await (await fetch(done.file_url)).text()).trimEnd().split('\n')).toHaveLength(PARTS * 10)
})

test('a disk that stays full: the export fails with a reason after five attempts, and the reason shows no path', async () => {
  const id = await accept()
  for (let fence = 1; fence <= 5; fence++) await fullDisk(id, 2, fence)
  await work()
  const failed = await finished(api.call, id)
  expect(failed).toMatchObject({
    status: 'failed',
    file_url: null,
    manifest: null,
    error: { code: 'storage_error', message: expect.any(String) },
  })
  expect(failed.error.message).not.toContain('/')
})

test('a storage folder that is missing fails the export; a folder that comes back lets the export finish', async () => {
  const [lost, found] = [await accept(), await accept()]
  const away = `${api.files}-away`
  await rename(api.files, away)
  await api.pool.query(`delete from due where id = (select id from runs where subject = $1)`, [found])
  await work()
  expect(await finished(api.call, lost)).toMatchObject({ status: 'failed', error: { code: 'storage_error' } })
  await rename(away, api.files)
  await api.pool.query(
    `insert into due (kind, id, environment, due_at) select 'export', id, environment, created_at from runs where subject = $1`,
    [found],
  )
  expect(await finished(api.call, found)).toMatchObject({ status: 'done' })
})

test('a part that disappears after it was written is detected: the export fails and is not published incomplete', async () => {
  const id = await accept()
  await fullDisk(id, 4, 1)
  await work([0.3, 0.02, 0.02, 0.02])
  await until('part 3 is recorded', async () => {
    const { rowCount } = await api.pool.query(
      `select 1 from steps s join runs r on r.id = s.run where r.subject = $1 and s.name = 'part-3'`,
      [id],
    )
    return rowCount || undefined
  })
  await rm(part(id, 1, 1))
  expect(await finished(api.call, id)).toMatchObject({ status: 'failed', error: { code: 'storage_error' } })
})

test('parts that an earlier executor left are removed; the file is deleted after a week, the record after 90 days', async () => {
  const id = await accept()
  await fullDisk(id, 1, 7)
  await work()
  const done = await finished(api.call, id)
  expect([...(await api.storage.sizes(id)).keys()].sort()).toEqual(['1.1', '2.1', '3.1', '4.1', '5.1'])
  const advance = (days: number) =>
    api.pool.query(`update environments set clock_offset = clock_offset + make_interval(days => $1)`, [days])
  await advance(6)
  expect((await fetch(done.file_url)).status).toBe(200)
  await advance(2)
  expect((await fetch(done.file_url)).status).toBe(404)
  await until('the file is removed', () =>
    api.storage.sizes(id).then(
      () => undefined,
      () => true,
    ),
  )
  expect((await api.call('GET', `/v4/exports/${id}`)).body).toMatchObject({ status: 'done', file_url: null })
  await until(
    'the run sleeps',
    async () =>
      (await api.pool.query(`select 1 from runs where workflow = 'export-retention' and status = 'waiting'`)).rowCount || undefined,
  )
  await advance(90)
  await until('the record is removed', async () => ((await api.call('GET', `/v4/exports/${id}`)).status === 404 ? true : undefined))
})

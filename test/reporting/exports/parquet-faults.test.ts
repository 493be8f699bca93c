import { mkdir, readdir, rename, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { FileStorage } from '../../../store/files/storage.ts'
import { pgBossQueue } from '../../../workers/pg-boss.ts'
import { startWorker, type Worker } from '../../../workers/worker.ts'
import { workflowHandlers } from '../../../workflows/engine/execute.ts'
import { exportWorkflow } from '../../../workflows/export/export.ts'
import { exportRetention } from '../../../workflows/export/retention.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { QUICK } from '../../harness/engine-fixture.ts'
import { item } from '../../harness/events.ts'
import { finished, storedFiles, WHOLE_YEAR } from '../../harness/exports.ts'
import { readParquet } from '../../harness/parquet.ts'
import { until } from '../../harness/until.ts'

const EVENTS = 49
let api: TestApi
let worker: Worker | undefined
beforeEach(async () => {
  api = await startApi()
  const events = Array.from({ length: EVENTS }, (_, i) => item({ transaction: { transaction_id: `t${i}` } }))
  await api.call('POST', '/v4/events', { body: { events } })
})
afterEach(async () => {
  await worker?.stop()
  worker = undefined
  await api.stop()
})

const accept = async (): Promise<string> => (await api.call('POST', '/v4/exports', { body: { ...WHOLE_YEAR, format: 'parquet' } })).body.id

/** A worker on the real storage. `compose` replaces the function that joins the parts to the file. */
async function work(compose: FileStorage['composePart'] = api.storage.composePart): Promise<void> {
  const storage = { ...api.storage, composePart: compose }
  worker = await startWorker({
    pool: api.pool,
    url: api.databaseUrl,
    queue: await pgBossQueue({ url: api.databaseUrl, onError: () => {} }),
    handlers: workflowHandlers([exportWorkflow({ pool: api.pool, storage, partRows: 10 }), exportRetention({ storage })], {
      pool: api.pool,
      policies: QUICK,
    }),
    leaseMs: 1000,
    log: pino({ level: 'silent' }),
  })
}

async function expectWhole(id: string): Promise<void> {
  const done = await finished(api.call, id)
  expect(done).toMatchObject({ status: 'done', rows_written: EVENTS, manifest: { rows: EVENTS } })
  const { rows } = await readParquet(Buffer.from(await (await fetch(done.file_url)).arrayBuffer()))
  expect([rows.length, new Set(rows.map(row => row.transaction_id)).size]).toEqual([EVENTS, EVENTS])
  expect(await readdir(join(api.files, id))).toEqual([expect.stringMatching(/^whole\.\d+$/)])
}

test('a file name that is taken: the file is written again under another name, and the rest is deleted', async () => {
  const id = await accept()
  await mkdir(join(api.files, id, 'whole.1', 'in the way'), { recursive: true })
  await work()
  await expectWhole(id)
  expect((await api.storage.sizes(id)).has('whole.1')).toBe(false)
})

test('parts that are lost or truncated before the file is written from them are written again', async () => {
  const id = await accept()
  let attempts = 0
  await work(async (file, name, from, make) => {
    if (++attempts === 1) {
      await rm(join(api.files, file, from[0]!))
      await truncate(join(api.files, file, from[2]!), 100)
    }
    if (attempts === 2) await rm(join(api.files, file), { recursive: true })
    return api.storage.composePart(file, name, from, make)
  })
  await expectWhole(id)
  expect(attempts).toBe(3)
})

test('a storage folder that disappears while the file is written, and does not come back: the export fails without a file', async () => {
  const id = await accept()
  const away = `${api.files}-away`
  await work(async (file, name, from, make) => {
    await rename(api.files, away).catch(() => {})
    return api.storage.composePart(file, name, from, make)
  })
  expect(await finished(api.call, id)).toMatchObject({
    status: 'failed',
    file_url: null,
    manifest: null,
    error: { code: 'storage_error' },
  })
  await rename(away, api.files)
})

test('a disk that is full for the file but not for its parts: the export fails, and the retention deletes the parts', async () => {
  const id = await accept()
  await work((file, name, from, make) => api.storage.composePart(file, name, from, at => make({ ...at, target: '/dev/full' })))
  const failed = await finished(api.call, id)
  expect(failed).toMatchObject({ status: 'failed', file_url: null, error: { code: 'storage_error' } })
  expect(failed.error.message).not.toContain('/')
  expect((await readdir(join(api.files, id))).sort()).toEqual(['1.1', '2.1', '3.1', '4.1', '5.1'])
  await api.pool.query(`update environments set clock_offset = interval '8 days'`)
  await until('the parts are removed', async () => ((await storedFiles(api.files)).length === 0 ? true : undefined))
})

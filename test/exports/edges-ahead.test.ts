import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Pool } from '../../store/connect.ts'
import type { FileStorage } from '../../store/files/storage.ts'
import { pgBossQueue } from '../../workers/pg-boss.ts'
import { startWorker, type Worker } from '../../workers/worker.ts'
import { workflowHandlers } from '../../workflows/engine/execute.ts'
import { exportWorkflow } from '../../workflows/export/export.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { QUICK } from '../harness/engine-fixture.ts'
import { item } from '../harness/events.ts'
import { finished, WHOLE_YEAR } from '../harness/exports.ts'

const PARTS = 5
const ROWS = PARTS * 10 - 1
let api: TestApi
let worker: Worker
/** Edges that were read on no connection of a transaction. */
let ahead = 0
let fails = false
const waiting: { edges: number; go: () => void }[] = []

beforeAll(async () => {
  api = await startApi()
  await api.call('POST', '/v4/events', { body: { events: Array.from({ length: ROWS }, (_, i) => item({ identity_id: `u${i}` })) } })
  const query = (...args: [string]) => {
    if (typeof args[0] !== 'string' || !args[0].includes('log_offset::text as second')) return api.pool.query(...args)
    ahead++
    for (const one of waiting.splice(0)) one.edges <= ahead ? one.go() : waiting.push(one)
    return fails ? Promise.reject(new Error('no connection')) : api.pool.query(...args)
  }
  const pool = new Proxy(api.pool, { get: (target, name) => (name === 'query' ? query : Reflect.get(target, name)) }) as Pool
  const storage: FileStorage = {
    ...api.storage,
    async writePart(file, name, ...rest) {
      const n = Number(name.split('.')[0])
      // No part is written before the edge of the next one is being read.
      if (n < PARTS && ahead < n) await new Promise<void>(go => waiting.push({ edges: n, go }))
      return api.storage.writePart(file, name, ...rest)
    },
  }
  worker = await startWorker({
    pool: api.pool,
    url: api.databaseUrl,
    queue: await pgBossQueue({ url: api.databaseUrl, onError: () => {} }),
    handlers: workflowHandlers([exportWorkflow({ pool, storage, partRows: 10 })], { pool: api.pool, policies: QUICK }),
    leaseMs: 10_000,
    log: pino({ level: 'silent' }),
  })
})
afterAll(async () => {
  await worker.stop()
  await api.stop()
})

test.each([
  ['is found while a part is written', false],
  ['that cannot be found then is found when it is recorded', true],
])('the edge of the next part %s', async (_title, isBroken) => {
  ahead = 0
  fails = isBroken
  const { id } = (await api.call('POST', '/v4/exports', { body: WHOLE_YEAR })).body
  expect(await finished(api.call, id)).toMatchObject({ status: 'done', rows_written: ROWS, manifest: { rows: ROWS } })
  expect(ahead).toBe(PARTS - 1)
})

import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { s3Storage } from '../../store/files/s3.ts'
import { type CrashFixture, crashFixture, endLeases, transactionsIn } from '../harness/crash-fixture.ts'
import { finished, WHOLE_YEAR } from '../harness/exports.ts'
import { run } from '../harness/process.ts'
import { startS3, type TestS3 } from '../harness/s3.ts'

const EVENTS = 500

// Processes start and leases run out in real time, on a machine that runs other tests beside.
vi.setConfig({ testTimeout: 120_000 })

let s3: TestS3
let site: CrashFixture
beforeAll(async () => {
  s3 = await startS3()
  site = await crashFixture({ events: EVENTS, perBatch: 500, people: 100, partRows: 25, more: s3.env })
})
afterAll(async () => {
  await site.end()
  await s3.end()
})

/** Kills a worker at the moment when the server is asked for that; what was asked is done or not. */
async function killedAt(moment: RegExp, isDone: boolean): Promise<void> {
  let reached = () => {}
  const moved = new Promise<void>(resolve => {
    reached = resolve
  })
  let dead = () => {}
  const death = new Promise<void>(resolve => {
    dead = resolve
  })
  s3.befalls = async ({ method, url }) => {
    if (!moment.test(`${method} ${url}`)) return undefined
    s3.befalls = () => undefined
    reached()
    await death
    return isDone ? undefined : 'fails'
  }
  const worker = await run({ env: site.env('worker') })
  await moved
  await worker.end('SIGKILL')
  await endLeases(site.database.pool)
  dead()
}

test.each([
  ['csv', [/PUT .*\/1\.\d/, /PUT .*\/7\.\d/, /PUT .*\/21\.\d/, /GET .*list-type/, /DELETE .*/]],
  ['parquet', [/GET .*\/1\.\d/, /PUT .*\/whole\.\d/, /DELETE .*/]],
])('kill -9 of the worker at its requests (%s): the export is whole, nothing is left of the attempts', async (format, moments) => {
  const { body } = await site.call('POST', '/v4/exports', { body: { ...WHOLE_YEAR, format } })
  for (const [i, moment] of moments.entries()) await killedAt(moment, i % 2 === 0)
  const last = await run({ env: site.env('worker') })
  const object = await finished(site.call, body.id, undefined, 60_000)
  expect(object).toMatchObject({ status: 'done', rows_written: EVENTS, error: null })
  const bytes = Buffer.from(await (await fetch(object.file_url)).arrayBuffer())
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(object.manifest.sha256)
  const ids = await transactionsIn(format, bytes)
  expect([ids.length, new Set(ids).size]).toEqual([EVENTS, EVENTS])
  await last.end()
  const { rows } = await site.database.pool.query<{ parts: { name: string }[] }>('select parts from exports where id = $1', [body.id])
  const storage = s3Storage({ ...s3.options, folder: site.folder })
  expect([...(await storage.sizes(body.id)).keys()].sort()).toEqual(rows[0]!.parts.map(part => part.name).sort())
  expect(await s3.unfinished()).toEqual([])
  // What lay on the local disk of a killed worker goes with the next one.
  const left = await readdir(join(site.folder, 'exports'))
  expect(left.length).toBeLessThanOrEqual(format === 'parquet' ? 1 : 0)
})

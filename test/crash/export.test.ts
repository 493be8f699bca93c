import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Client } from '../harness/client.ts'
import { type CrashFixture, crashFixture, endLeases, expectWhole, partsOf } from '../harness/crash-fixture.ts'
import type { FreshDatabase } from '../harness/database.ts'
import { IS_WHOLE } from '../harness/effort.ts'
import { WHOLE_YEAR } from '../harness/exports.ts'
import { type Running, run } from '../harness/process.ts'
import { until } from '../harness/until.ts'

const EVENTS = 1500
const PART_ROWS = 25
/** Of a worker that is to be met in the middle of its export, however late the test looks. */
const SMALL_PARTS = { EXPORT_PART_ROWS: '10' }

// Processes start and leases run out in real time, on a machine that runs other tests beside.
vi.setConfig({ testTimeout: 120_000 })

let site: CrashFixture
let database: FreshDatabase
let folder: string
let call: Client
let env: CrashFixture['env']
beforeAll(async () => {
  site = await crashFixture({ events: EVENTS, perBatch: 500, people: 100, partRows: PART_ROWS })
  ;({ database, folder, call, env } = site)
})
afterAll(() => site.end())

// A worker that a failed test left behind would do the work of the tests after it.
const started: Running[] = []
afterEach(() => Promise.all(started.splice(0).map(worker => worker.end('SIGKILL'))))

async function startWorker(more: Record<string, string> = {}): Promise<Running> {
  const worker = await run({ env: { ...env('worker'), ...more } })
  started.push(worker)
  return worker
}

const whole = (id: string) => expectWhole(site, id, EVENTS)
const parts = (id: string) => partsOf(database.pool, id)

const dueOf = async (id: string) =>
  (
    await database.pool.query<{ fence: number; lease_until: string | null }>(
      `select d.fence, d.lease_until from due d join runs r on r.id = d.id where d.kind = 'export' and r.subject = $1`,
      [id],
    )
  ).rows

function entriesOf(id: string): string[] {
  try {
    return readdirSync(join(folder, 'exports', id), { recursive: true, encoding: 'utf8' })
  } catch (error) {
    // Not there yet, or a folder in it went while it was read.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** True when the folder gets such an entry, mostly for a few milliseconds; false when the export is finished without it being seen. */
async function appears(id: string, entry: RegExp, before: string[]): Promise<boolean> {
  const end = performance.now() + 60_000
  for (let requested = performance.now(); ; ) {
    if (entriesOf(id).some(name => entry.test(name) && !before.includes(name))) return true
    if (performance.now() > requested + 1000) {
      if ((await call('GET', `/v4/exports/${id}`)).body.status === 'done') return false
      requested = performance.now()
    }
    if (performance.now() > end) throw new Error(`not there: ${entry}`)
    await setImmediate()
  }
}

describe('kill -9 of the worker', () => {
  // After that many parts the process is killed without warning: before the first, and twice in a row.
  test.each([
    [[0, 20, 21]],
    ...(IS_WHOLE ? [[[1, 7, 40]]] : []),
  ])('after %j parts: the export is whole, no row missing or doubled', async kills => {
    const { body } = await call('POST', '/v4/exports', { body: WHOLE_YEAR })
    for (const after of kills) {
      const worker = await startWorker()
      await until(`${after} parts`, async () => ((await parts(body.id)) >= after ? true : undefined))
      await worker.end('SIGKILL')
      await endLeases(database.pool)
    }
    const last = await startWorker()
    await whole(body.id)
    await last.end()
  })

  test('while the parts of a Parquet file are put together, three times: the file is whole, and alone in its folder', async () => {
    const create = async () => (await call('POST', '/v4/exports', { body: { ...WHOLE_YEAR, format: 'parquet' } })).body.id as string
    let id = await create()
    // The step has begun; the file is being written; it has its name, recorded or not.
    for (const entry of [/^\.whole\.\d+$/, /^\.whole\.\d+.target$/, /^whole\.\d+$/])
      for (;;) {
        const before = entriesOf(id)
        const worker = await startWorker()
        const seen = await appears(id, entry, before)
        await worker.end('SIGKILL')
        await endLeases(database.pool)
        if (seen) break
        id = await create()
      }
    const last = await startWorker()
    await whole(id)
    expect(entriesOf(id)).toEqual([expect.stringMatching(/^whole\.\d+$/)])
    await last.end()
  })

  test('and a cancellation before the next one: nobody writes on, and the parts go', async () => {
    const { body } = await call('POST', '/v4/exports', { body: { ...WHOLE_YEAR } })
    const worker = await startWorker()
    await until('some parts', async () => ((await parts(body.id)) > 5 ? true : undefined))
    await worker.end('SIGKILL')
    expect((await call('POST', `/v4/exports/${body.id}/cancel`)).body.status).toBe('cancelled')
    await endLeases(database.pool)
    const last = await startWorker()
    const { body: next } = await call('POST', '/v4/exports', { body: WHOLE_YEAR })
    await whole(next.id)
    const written = (await call('GET', `/v4/exports/${body.id}`)).body
    expect(written.status).toBe('cancelled')
    await database.pool.query(`update environments set clock_offset = clock_offset + interval '2 minutes'`)
    await until('its folder is gone', async () => (entriesOf(body.id).length === 0 ? true : undefined))
    expect((await call('GET', `/v4/exports/${body.id}`)).body).toEqual(written)
    await last.end()
  })

  test('with a second worker beside it: that one takes over', async () => {
    const { body } = await call('POST', '/v4/exports', { body: { ...WHOLE_YEAR } })
    const workers = [await startWorker(), await startWorker()]
    await until('some parts', async () => ((await parts(body.id)) > 5 ? true : undefined))
    await workers[0]!.end('SIGKILL')
    await whole(body.id)
    await workers[1]!.end()
  })
})

test('a stopped worker whose lease was taken over spoils nothing when it goes on', async () => {
  const { body } = await call('POST', '/v4/exports', { body: WHOLE_YEAR })
  const frozen = await startWorker(SMALL_PARTS)
  await until('some parts', async () => ((await parts(body.id)) > 5 ? true : undefined))
  process.kill(frozen.child.pid!, 'SIGSTOP')
  const other = await startWorker(SMALL_PARTS)
  await until('a takeover', async () => (await dueOf(body.id)).some(row => row.fence > 1) || undefined)
  process.kill(frozen.child.pid!, 'SIGCONT')
  await whole(body.id)
  expect([await frozen.end(), await other.end()]).toEqual([0, 0])
})

test('SIGTERM gives the lease back: the next worker goes on at once', async () => {
  const { body } = await call('POST', '/v4/exports', { body: WHOLE_YEAR })
  const first = await startWorker({ ...SMALL_PARTS, LEASE_SECONDS: '600' })
  await until('some parts', async () => ((await parts(body.id)) > 2 ? true : undefined))
  expect(await first.end('SIGTERM')).toBe(0)
  expect(await dueOf(body.id)).toMatchObject([{ lease_until: null }])
  const next = await startWorker({ ...SMALL_PARTS, LEASE_SECONDS: '600' })
  await whole(body.id)
  expect(await next.end('SIGINT')).toBe(0)
})

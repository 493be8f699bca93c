import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Client } from '../harness/client.ts'
import { type CrashSite, crashSite, transactionsIn } from '../harness/crash.ts'
import type { FreshDatabase } from '../harness/database.ts'
import { finished, WHOLE_YEAR } from '../harness/exports.ts'
import { run } from '../harness/process.ts'
import { until } from '../harness/until.ts'

const EVENTS = 3000
const PART_ROWS = 25
const PARTS = EVENTS / PART_ROWS + 1

// Processes start and leases run out in real time, on a machine that runs other tests beside.
vi.setConfig({ testTimeout: 120_000 })

let site: CrashSite
let database: FreshDatabase
let folder: string
let call: Client
let env: CrashSite['env']
beforeAll(async () => {
  site = await crashSite({ events: EVENTS, perBatch: 1000, people: 100, partRows: PART_ROWS })
  ;({ database, folder, call, env } = site)
})
afterAll(() => site.end())

async function expectWhole(id: string): Promise<void> {
  const object = await finished(call, id, undefined, 60_000)
  expect(object).toMatchObject({ status: 'done', rows_written: EVENTS, error: null })
  const bytes = Buffer.from(await (await fetch(object.file_url)).arrayBuffer())
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(object.manifest.sha256)
  const ids = await transactionsIn(object.format, bytes)
  expect([ids.length, new Set(ids).size]).toEqual([EVENTS, EVENTS])
}

const partsOf = async (id: string) =>
  (
    await database.pool.query(
      `select count(*)::int as n from steps s join runs r on r.id = s.run where r.subject = $1 and s.name like 'part-%'`,
      [id],
    )
  ).rows[0].n as number

const dueOf = async (id: string) =>
  (
    await database.pool.query<{ fence: number; lease_until: string | null }>(
      `select d.fence, d.lease_until from due d join runs r on r.id = d.id where d.kind = 'export' and r.subject = $1`,
      [id],
    )
  ).rows

/** Some files are there for a few milliseconds only. */
async function appears(path: string): Promise<void> {
  const end = performance.now() + 30_000
  while (!existsSync(path)) {
    if (performance.now() > end) throw new Error(`not there: ${path}`)
    await setImmediate()
  }
}

describe('kill -9 of the worker', () => {
  // Seeded by the attempt, so a failure can be repeated: after that many parts the process is killed without warning.
  test.each([
    [[1, 7, 40]],
    [[0, 20, 21]],
    [[3, 60, 119]],
  ])('after %j parts: the export is whole, no row missing or doubled', async kills => {
    const { body } = await call('POST', '/v4/exports', { body: WHOLE_YEAR })
    for (const after of kills) {
      const worker = await run({ env: env('worker') })
      await until(`${after} parts`, async () => ((await partsOf(body.id)) >= Math.min(after, PARTS) ? true : undefined))
      await worker.end('SIGKILL')
    }
    const last = await run({ env: env('worker') })
    await expectWhole(body.id)
    await last.end()
  })

  test('while the parts of a Parquet file are put together, three times: the file is whole, and alone in its folder', async () => {
    const { body } = await call('POST', '/v4/exports', { body: { ...WHOLE_YEAR, format: 'parquet' } })
    const exported = join(folder, 'exports', body.id)
    // The step has begun; the file is being written; it has its name, recorded or not.
    for (const seen of ['.whole.1', '.whole.2/target', 'whole.3']) {
      const worker = await run({ env: env('worker') })
      await appears(join(exported, seen))
      await worker.end('SIGKILL')
      // Loading DuckDB takes longer than the kill.
      if (seen === '.whole.1') expect(await readdir(exported)).toContain(seen)
    }
    const last = await run({ env: env('worker') })
    await expectWhole(body.id)
    expect(await readdir(exported)).toEqual([expect.stringMatching(/^whole\.[34]$/)])
    await last.end()
  })

  test('with a second worker beside it: that one takes over', async () => {
    const { body } = await call('POST', '/v4/exports', { body: { ...WHOLE_YEAR } })
    const workers = [await run({ env: env('worker') }), await run({ env: env('worker') })]
    await until('some parts', async () => ((await partsOf(body.id)) > 5 ? true : undefined))
    await workers[0]!.end('SIGKILL')
    await expectWhole(body.id)
    await workers[1]!.end()
  })
})

test('a stopped worker whose lease was taken over spoils nothing when it goes on', async () => {
  const { body } = await call('POST', '/v4/exports', { body: WHOLE_YEAR })
  const frozen = await run({ env: env('worker') })
  await until('some parts', async () => ((await partsOf(body.id)) > 5 ? true : undefined))
  process.kill(frozen.child.pid!, 'SIGSTOP')
  const other = await run({ env: env('worker') })
  await until('a takeover', async () => (await dueOf(body.id)).some(row => row.fence > 1) || undefined)
  process.kill(frozen.child.pid!, 'SIGCONT')
  await expectWhole(body.id)
  expect([await frozen.end(), await other.end()]).toEqual([0, 0])
})

test('SIGTERM gives the lease back: the next worker goes on at once', async () => {
  const { body } = await call('POST', '/v4/exports', { body: WHOLE_YEAR })
  const first = await run({ env: { ...env('worker'), LEASE_SECONDS: '600' } })
  await until('some parts', async () => ((await partsOf(body.id)) > 2 ? true : undefined))
  expect(await first.end('SIGTERM')).toBe(0)
  expect(await dueOf(body.id)).toMatchObject([{ lease_until: null }])
  const next = await run({ env: { ...env('worker'), LEASE_SECONDS: '600' } })
  await expectWhole(body.id)
  expect(await next.end('SIGINT')).toBe(0)
})

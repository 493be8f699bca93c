import { createHash } from 'node:crypto'
import { watch } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Client } from '../harness/client.ts'
import { type CrashFixture, crashFixture, endLeases, transactionsIn } from '../harness/crash-fixture.ts'
import type { FreshDatabase } from '../harness/database.ts'
import { eraseUser, erasuresEnded, filesWith } from '../harness/erasure.ts'
import { finished, WHOLE_YEAR } from '../harness/exports.ts'
import { run } from '../harness/process.ts'
import { tracesOf } from '../harness/traces.ts'
import { until } from '../harness/until.ts'

const PEOPLE = 20
const EVENTS = 2000

// Processes start and leases run out in real time, on a machine that runs other tests beside.
vi.setConfig({ testTimeout: 120_000 })

let site: CrashFixture
let database: FreshDatabase
let folder: string
let call: Client
let env: CrashFixture['env']
beforeAll(async () => {
  site = await crashFixture({ events: EVENTS, perBatch: 50, people: PEOPLE, partRows: 25 })
  ;({ database, folder, call, env } = site)
})
afterAll(() => site.end())

/** The moment at which a name comes up in the folder, or goes from it. */
const happens = (path: string, name: RegExp) =>
  new Promise<void>(resolve => {
    const watcher = watch(path, (_, seen) => {
      if (!seen || !name.test(seen)) return
      watcher.close()
      resolve()
    })
  })

test.each([
  // The first new part; some are written; the last one: from there to the exchange it is milliseconds. Old parts go.
  ['csv', 'u3', [/^\d+\.erase-/, /^1\d\.erase-/, /^80\.erase-/, /^\d+\.\d+$/]],
  ['parquet', 'u4', [/^\.1\.erase-/, /^1\.erase-/, /^whole\./]],
])('kill -9 of the worker while it rewrites a file (%s): in the end the rows of one user are missing, no other', async (format, who, moments) => {
  const { body } = await call('POST', '/v4/exports', { body: { ...WHOLE_YEAR, format } })
  const first = await run({ env: env('worker') })
  const before = await finished(call, body.id, undefined, 60_000)
  await first.end()
  const { user_id: id } = (await call('GET', `/v4/identities/${who}`)).body
  const wanted = (
    await database.pool.query<{ id: string }>('select transaction_id as id from events where user_id <> $1 order by transaction_id', [id])
  ).rows.map(row => row.id)
  const exported = join(folder, 'exports', body.id)
  const { rows } = await database.pool.query<{ id: number }>('select environment as id from exports where id = $1', [body.id])
  await eraseUser(database.pool, rows[0]!.id, id)
  for (const moment of moments) {
    // What the killed one has recorded may have taken the run past the moment.
    const moved = happens(exported, moment)
    const worker = await run({ env: env('worker') })
    await Promise.race([moved, erasuresEnded(database.pool, 60_000)])
    await worker.end('SIGKILL')
    await endLeases(database.pool)
    // Whatever the record says now is there, whole.
    if (moment === moments[0]) expect((await readdir(exported)).filter(name => /\.erase-/.test(name))).not.toEqual([])
    const now = (await call('GET', `/v4/exports/${body.id}`)).body
    const bytes = Buffer.from(await (await fetch(now.file_url)).arrayBuffer())
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(now.manifest.sha256)
    if (moment === moments[0]) expect(now.manifest).toEqual(before.manifest)
  }
  const last = await run({ env: env('worker') })
  await erasuresEnded(database.pool, 60_000)
  await last.end()
  const now = (await call('GET', `/v4/exports/${body.id}`)).body
  expect(now.file_url).toBe(before.file_url)
  const bytes = Buffer.from(await (await fetch(now.file_url)).arrayBuffer())
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(now.manifest.sha256)
  expect([now.manifest.rows, now.manifest.bytes]).toEqual([wanted.length, bytes.length])
  expect((await transactionsIn(format, bytes)).sort()).toEqual(wanted)
  expect(await filesWith(join(folder, 'exports'), id)).toEqual([])
  expect(await tracesOf(database.pool, id)).toEqual([])
  const parts = await until(
    'the parts',
    async () => (await database.pool.query('select parts from exports where id = $1', [body.id])).rows[0],
  )
  expect((await readdir(exported)).sort()).toEqual(parts.parts.map((part: { name: string }) => part.name).sort())
})

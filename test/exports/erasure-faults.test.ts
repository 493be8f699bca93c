import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { eraseFromExports } from '../../domain/exports/erasure.ts'
import { replaceFile } from '../../domain/exports/rewrite.ts'
import type { FileStorage } from '../../store/files/storage.ts'
import { transaction } from '../../store/transaction.ts'
import { startWorker, type Worker } from '../../workers/main.ts'
import { pgBossQueue } from '../../workers/pg-boss.ts'
import { workflowPerformers } from '../../workflows/engine/execute.ts'
import { eraseExport } from '../../workflows/export/erase.ts'
import { exportWorkflow } from '../../workflows/export/export.ts'
import { clearAway, rewriteFile } from '../../workflows/export/rewrite-file.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { QUICK } from '../harness/engine.ts'
import { eraseUser, erasuresEnded, filesWith } from '../harness/erasure.ts'
import { item } from '../harness/events.ts'
import { type Exported, exportAll, finished, WHOLE_YEAR } from '../harness/exports.ts'
import { tracesOf } from '../harness/traces.ts'
import { until } from '../harness/until.ts'

const PEOPLE = ['anna', 'ben', 'carl', 'dora']
let api: TestApi
let environment: number
let worker: Worker | undefined
let ids: Record<string, string>
beforeEach(async () => {
  api = await startApi()
  environment = api.project.production
  const events = Array.from({ length: 40 }, (_, i) => item({ identity_id: PEOPLE[i % 4], device: { country: 'DE' } }))
  await api.call('POST', '/v4/events', { body: { events } })
  const { rows } = await api.pool.query<{ who: string; id: string }>('select identity_id as who, id from users')
  ids = Object.fromEntries(rows.map(({ who, id }) => [who, id]))
})
afterEach(async () => {
  await worker?.stop()
  worker = undefined
  await api.stop()
})

async function work(changes: Partial<FileStorage> = {}, partRows = 4): Promise<void> {
  const { pool } = api
  const storage = { ...api.storage, ...changes }
  worker = await startWorker({
    pool,
    url: api.databaseUrl,
    queue: await pgBossQueue({ url: api.databaseUrl, onError: () => {} }),
    performers: workflowPerformers([exportWorkflow({ pool, storage, partRows }), eraseExport({ pool, storage })], {
      pool: pool,
      policies: QUICK,
    }),
    leaseMs: 1000,
    log: pino({ level: 'silent' }),
  })
}
async function rest(): Promise<void> {
  await worker?.stop()
  worker = undefined
}

const usersIn = async (url: string, column = 'User ID'): Promise<string[]> =>
  [...new Set((parse(await (await fetch(url)).text(), { columns: true }) as Record<string, string>[]).map(row => row[column]!))].sort()

async function expectGone(id: string): Promise<void> {
  expect(await filesWith(api.files, id)).toEqual([])
  expect(await tracesOf(api.pool, id)).toEqual([])
}

const germany = async (): Promise<string> =>
  (await api.call('POST', '/v4/segments', { body: { name: 'DE', conditions: [{ metric: 'country', comparator: 'eq', value: 'DE' }] } }))
    .body.id

test.each([
  ['events', 4],
  ['purchases', 4],
  ['customers', 1],
])('an export of %s that is being made at the erasure ends without the user, edges and members too', async (type, partRows) => {
  const body = { ...WHOLE_YEAR, type, segment_id: await germany() }
  const accepted = (await api.call('POST', '/v4/exports', { body })).body
  const waiting = (await api.call('POST', '/v4/exports', { body: { ...body, format: 'ndjson' } })).body
  // Each time the second part is about to be written somebody is erased: of customers with one row per part everybody is an edge.
  const gone: string[] = []
  await work(
    {
      async writePart(file, name, content, signal) {
        const who = PEOPLE[gone.length]
        if (file === accepted.id && name.startsWith('2.') && who && who !== 'dora') {
          gone.push(who)
          await eraseUser(api.pool, environment, ids[who]!)
        }
        return api.storage.writePart(file, name, content, signal)
      },
    },
    partRows,
  )
  const done = await finished(api.call, accepted.id)
  await finished(api.call, waiting.id)
  // Past the moments at which the erasures look again.
  await api.pool.query(`update environments set clock_offset = interval '1 minute'`)
  await erasuresEnded(api.pool, 30_000)
  expect(gone.length).toBeGreaterThan(0)
  expect(done.status).toBe('done')
  const left = PEOPLE.filter(who => !gone.includes(who))
  const now = (await api.call('GET', `/v4/exports/${accepted.id}`)).body
  expect(await usersIn(now.file_url)).toEqual(left)
  expect(now.manifest.rows).toBe(type === 'customers' ? left.length : left.length * 10)
  for (const who of gone) await expectGone(ids[who]!)
})

test('edges of parts: the same other users on both sides, also when neighbours of one moment are erased at once', async () => {
  await work({}, 1)
  const made = await exportAll(api, { ...WHOLE_YEAR, type: 'customers' })
  const sorted = Object.values(ids).sort()
  const edges = async () =>
    (
      await api.pool.query<{ result: string[] | null }>(
        `select s.result from steps s join runs r on r.id = s.run where r.subject = $1 and s.name like 'edge-%' order by s.n`,
        [made.object.id],
      )
    ).rows.map(({ result }) => result?.[1])
  expect(await edges()).toEqual([...sorted, undefined])
  await Promise.all([sorted[1]!, sorted[2]!].map(id => eraseUser(api.pool, environment, id)))
  expect(await edges()).toEqual([sorted[0], sorted[0], sorted[0], sorted[3], undefined])
  await eraseUser(api.pool, environment, sorted[0]!)
  expect(await edges()).toEqual(['', '', '', sorted[3], undefined])
  await erasuresEnded(api.pool)
  for (const id of sorted.slice(0, 3)) await expectGone(id)
})

test('an acceptance waits for an erasure that it could miss', async () => {
  const held = await api.pool.connect()
  await held.query('begin')
  await eraseFromExports(held, environment, ids.anna!)
  let accepted = false
  const accepting = api.call('POST', '/v4/exports', { body: WHOLE_YEAR }).then(answer => {
    accepted = true
    return answer
  })
  await until('it waits', async () => {
    const { rowCount } = await api.pool.query(
      `select 1 from pg_stat_activity where wait_event = 'advisory' and datname = current_database()`,
    )
    return rowCount || undefined
  })
  expect(accepted).toBe(false)
  await held.query('delete from events where user_id = $1', [ids.anna])
  await held.query('delete from users where id = $1', [ids.anna])
  await held.query('commit')
  held.release()
  const { body } = await accepting
  await work()
  expect(await usersIn((await finished(api.call, body.id)).file_url)).toEqual(['ben', 'carl', 'dora'])
})

const failing = () => Promise.reject(new Error('the disk'))

async function rewriting(file: string, run: number) {
  const options = { pool: api.pool, storage: api.storage, environment, file }
  const made = (await rewriteFile({ ...options, mark: `${run}-1.1`, signal: new AbortController().signal }))!
  return {
    made,
    replace: () => transaction(api.pool, tx => replaceFile(tx, environment, file, made)),
    clear: () => clearAway({ ...options, run, replaced: made.replaced }),
  }
}

/** Erasures whose runs are at work, as the database sees them. */
const runsOf = async () =>
  (await api.pool.query<{ id: number }>(`select id from runs where workflow = 'erase-export' order by id`)).rows.map(row => row.id)

test('of two that rewrite one file at once the later does it again; neither takes the other its parts', async () => {
  await work()
  const { object } = await exportAll(api, WHOLE_YEAR)
  await rest()
  await eraseUser(api.pool, environment, ids.anna!)
  const first = await rewriting(object.id, (await runsOf())[0]!)
  await eraseUser(api.pool, environment, ids.ben!)
  const second = await rewriting(object.id, (await runsOf())[1]!)
  expect(await second.replace()).toBe(true)
  expect(await first.replace()).toBe(false)
  // Begun after the exchange, not finished when the others clear away.
  await eraseUser(api.pool, environment, ids.carl!)
  const third = await rewriting(object.id, (await runsOf())[2]!)
  await second.clear()
  await first.clear()
  expect(await third.replace()).toBe(true)
  await third.clear()
  const now = (await api.call('GET', `/v4/exports/${object.id}`)).body
  expect([await usersIn(now.file_url), now.manifest.rows]).toEqual([['dora'], 10])
  for (const who of ['anna', 'ben', 'carl']) expect(await filesWith(api.files, ids[who]!)).toEqual([])
  const { rows } = await api.pool.query('select parts, to_erase from exports')
  expect(rows[0].to_erase).toEqual([])
  expect((await readdir(join(api.files, object.id))).sort()).toEqual(rows[0].parts.map((part: { name: string }) => part.name).sort())
})

test.each([
  'csv',
  'parquet',
])('a storage that does not work (%s): after five attempts again an hour later, until it is done', async format => {
  await work()
  const { object } = await exportAll(api, { ...WHOLE_YEAR, format })
  await rest()
  let attempts = 0
  const full = async () => {
    attempts++
    throw Object.assign(new Error('full'), { code: 'ENOSPC' })
  }
  await eraseUser(api.pool, environment, ids.anna!)
  await work({ writePart: full, composePart: full })
  await until('the run has failed', async () => {
    const { rowCount } = await api.pool.query(`select 1 from runs where workflow = 'erase-export' and status = 'failed'`)
    return rowCount || undefined
  })
  expect(attempts).toBe(5)
  await rest()
  const { rows } = await api.pool.query(
    `select extract(epoch from d.due_at - r.finished_at)::int as later from runs r, due d where r.status = 'failed' and d.kind = 'erase-export'`,
  )
  expect(rows).toEqual([{ later: 3600 }])
  await api.pool.query(`update environments set clock_offset = interval '1 hour'`)
  await work()
  await erasuresEnded(api.pool)
  expect((await api.call('GET', `/v4/exports/${object.id}`)).body.manifest.rows).toBe(30)
  await expectGone(ids.anna!)
})

test('parts of an export that failed, and a file that has expired but still lies there, are removed', async () => {
  await work()
  const expired = await exportAll(api, WHOLE_YEAR)
  await rest()
  const { body } = await api.call('POST', '/v4/exports', { body: WHOLE_YEAR })
  await work({
    writePart: (file, name, ...rest) =>
      name.startsWith('3.')
        ? Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' }))
        : api.storage.writePart(file, name, ...rest),
  })
  expect((await finished(api.call, body.id)).status).toBe('failed')
  expect(await readdir(api.files)).toHaveLength(2)
  await api.pool.query(`update exports set expires_at = clock_timestamp() - interval '1 minute' where id = $1`, [expired.object.id])
  await eraseUser(api.pool, environment, ids.anna!)
  await erasuresEnded(api.pool)
  expect(await readdir(api.files)).toEqual([])
})

test('a file that expires, and is removed, while it is rewritten does not come back', async () => {
  await work()
  const { object } = await exportAll(api, WHOLE_YEAR)
  await rest()
  await eraseUser(api.pool, environment, ids.anna!)
  let writes = 0
  await work({
    async writePart(...part) {
      if (++writes === 1) {
        await api.pool.query(`update exports set expires_at = clock_timestamp() - interval '1 second'`)
        await api.storage.remove(object.id)
      }
      return api.storage.writePart(...part)
    },
  })
  await erasuresEnded(api.pool)
  expect(writes).toBeGreaterThan(0)
  expect(await readdir(api.files)).toEqual([])
})

/** Rewrites the file and removes what it was. */
async function erase(who: string, { object }: Exported): Promise<void> {
  await eraseUser(api.pool, environment, ids[who]!)
  const run = await rewriting(object.id, (await runsOf()).at(-1)!)
  expect(await run.replace()).toBe(true)
  await run.clear()
}

test('a download that looked at the record before the file was replaced sends the new one, whole', async () => {
  await work()
  const before = await exportAll(api, WHOLE_YEAR)
  await rest()
  const { read } = api.storage
  // Whose row is the first: the first part is one of those that are replaced.
  const [, first] = parse(before.text) as string[][]
  const who = first!.find(value => PEOPLE.includes(value))!
  let erased = false
  api.storage.read = async (...args) => {
    if (!erased) {
      erased = true
      await erase(who, before)
    }
    return read(...args)
  }
  const answer = await fetch(before.object.file_url)
  const text = await answer.text()
  const { manifest } = (await api.call('GET', before.object.url)).body
  expect([answer.status, answer.headers.get('etag')]).toEqual([200, `"${manifest.sha256}"`])
  expect(answer.headers.get('content-length')).toBe(String(manifest.bytes))
  expect([text.includes(ids[who]!), text.length]).toEqual([false, manifest.bytes])
})

test('what is replaced and cleared away while it is being rewritten is no failure: it is looked at anew', async () => {
  await work()
  for (const format of ['csv', 'parquet']) {
    const { object } = await exportAll(api, { ...WHOLE_YEAR, format })
    await rest()
    const who = format === 'csv' ? 'anna' : 'ben'
    const known = (await runsOf()).length
    await eraseUser(api.pool, environment, ids[who]!)
    const run = (await runsOf())[known]!
    const overtaken = async () => {
      const other = await rewriting(object.id, run)
      expect(await other.replace()).toBe(true)
      await other.clear()
      throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
    }
    const storage: FileStorage = { ...api.storage, read: overtaken, composePart: overtaken }
    const options = { pool: api.pool, storage, environment, file: object.id, mark: `${run}-9.1`, signal: new AbortController().signal }
    expect(await rewriteFile(options)).toBeNull()
    await expect(rewriteFile({ ...options, storage: { ...storage, read: failing, composePart: failing } })).rejects.toThrow('the disk')
    await work()
    await erasuresEnded(api.pool)
  }
})

test('a download under way when the file is replaced breaks off, and is whole when it goes on with If-Range', async () => {
  await work({}, 40)
  const before = await exportAll(api, WHOLE_YEAR)
  await rest()
  const { read } = api.storage
  // The file is read in pieces as somebody with a slow line would: the first part is open, the second not yet.
  const parts = (await api.pool.query('select parts from exports')).rows[0].parts as { name: string; bytes: number }[]
  expect(parts.length).toBeGreaterThan(1)
  const stream = await read(before.object.id, [...parts, { name: parts[0]!.name, bytes: 100 }])
  await erase('anna', before)
  const pieces: Buffer[] = []
  const failure = await (async () => {
    for await (const piece of stream) pieces.push(piece)
  })().then(
    () => undefined,
    error => error.code,
  )
  expect(failure).toBe('ENOENT')
  expect(Buffer.concat(pieces).equals(before.bytes)).toBe(true)
  const headers = { Range: 'bytes=100-', 'If-Range': `"${before.sha256}"` }
  const again = await fetch(before.object.file_url, { headers })
  expect(again.status).toBe(200)
  expect(await usersIn(before.object.file_url)).toEqual(['ben', 'carl', 'dora'])
})

test('a file whose parts are gone for good is an error of the storage, not a broken answer', async () => {
  await work()
  const { object } = await exportAll(api, WHOLE_YEAR)
  await api.storage.remove(object.id)
  const answer = await fetch(object.file_url)
  expect([answer.status, answer.headers.get('etag'), ((await answer.json()) as { error: { code: string } }).error.code]).toEqual([
    502,
    null,
    'storage_error',
  ])
})

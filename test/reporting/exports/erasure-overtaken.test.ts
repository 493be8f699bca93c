import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { FileStorage } from '../../../store/files/storage.ts'
import { rewriteFile } from '../../../workflows/export/rewrite-file.ts'
import type { TestApi } from '../../harness/api.ts'
import { type Erasing, PEOPLE, startErasing, usersIn } from '../../harness/erasing.ts'
import { eraseUser, erasuresEnded, filesWith } from '../../harness/erasure.ts'
import { exportAll, WHOLE_YEAR } from '../../harness/exports.ts'

let erasing: Erasing
let api: TestApi
let environment: number
let ids: Record<string, string>
beforeEach(async () => {
  erasing = await startErasing()
  ;({ api, environment, ids } = erasing)
})
afterEach(() => erasing.stop())

test('of two concurrent rewrites of one file the later one starts again; neither deletes the parts of the other', async () => {
  await erasing.work()
  const { object } = await exportAll(api, WHOLE_YEAR)
  await erasing.rest()
  await eraseUser(api.pool, environment, ids.anna!)
  const first = await erasing.rewriting(object.id, (await erasing.runsOf())[0]!)
  await eraseUser(api.pool, environment, ids.ben!)
  const second = await erasing.rewriting(object.id, (await erasing.runsOf())[1]!)
  expect(await second.replace()).toBe(true)
  expect(await first.replace()).toBe(false)
  // It begins after the replacement, and is unfinished when the others delete unused parts.
  await eraseUser(api.pool, environment, ids.carl!)
  const third = await erasing.rewriting(object.id, (await erasing.runsOf())[2]!)
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
])('a rewrite that begins after others have removed all erased users (%s) changes nothing and does not fail', async format => {
  await erasing.work()
  const { object } = await exportAll(api, { ...WHOLE_YEAR, format })
  await erasing.rest()
  await eraseUser(api.pool, environment, ids.anna!)
  const [run] = await erasing.runsOf()
  const other = await erasing.rewriting(object.id, run!)
  expect(await other.replace()).toBe(true)
  const options = { pool: api.pool, storage: api.storage, secrets: api.secrets, environment, file: object.id, mark: `${run}-2.1` }
  expect(await rewriteFile({ ...options, signal: new AbortController().signal })).toBeNull()
  await erasing.work()
  await erasuresEnded(api.pool)
  const { rows } = await api.pool.query(`select status from runs where workflow = 'erase-export'`)
  expect(rows).toEqual([{ status: 'succeeded' }])
})

const failing = () => Promise.reject(new Error('the disk'))

test('a file that is replaced and deleted during its rewrite is not a failure: the rewrite starts again with the new file', async () => {
  await erasing.work()
  for (const format of ['csv', 'parquet']) {
    const { object } = await exportAll(api, { ...WHOLE_YEAR, format })
    await erasing.rest()
    const who = format === 'csv' ? 'anna' : 'ben'
    const known = (await erasing.runsOf()).length
    await eraseUser(api.pool, environment, ids[who]!)
    const run = (await erasing.runsOf())[known]!
    const overtaken = async () => {
      const other = await erasing.rewriting(object.id, run)
      expect(await other.replace()).toBe(true)
      await other.clear()
      throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
    }
    const storage: FileStorage = { ...api.storage, read: overtaken, composePart: overtaken }
    const { pool, secrets } = api
    const options = { pool, storage, secrets, environment, file: object.id, mark: `${run}-9.1`, signal: new AbortController().signal }
    await expect(rewriteFile({ ...options, storage: { ...storage, read: failing, composePart: failing } })).rejects.toThrow('the disk')
    expect(await rewriteFile(options)).toBeNull()
    await erasing.work()
    await erasuresEnded(api.pool)
  }
})

test('a download that read the record before the file was replaced sends the new file completely', async () => {
  await erasing.work()
  const before = await exportAll(api, WHOLE_YEAR)
  await erasing.rest()
  const { read } = api.storage
  // The user of the first row: the first part is one of the replaced parts.
  const [, first] = parse(before.text) as string[][]
  const who = first!.find(value => PEOPLE.includes(value))!
  let erased = false
  api.storage.read = async (...args) => {
    if (!erased) {
      erased = true
      await erasing.erase(who, before)
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

test('a download aborts when its file is replaced, and is complete when it continues with If-Range', async () => {
  await erasing.work({}, 40)
  const before = await exportAll(api, WHOLE_YEAR)
  await erasing.rest()
  const { read } = api.storage
  // The client reads slowly, in pieces: the first part is open, the second part is not.
  const parts = (await api.pool.query('select parts from exports')).rows[0].parts as { name: string; bytes: number }[]
  expect(parts.length).toBeGreaterThan(1)
  const stream = await read(before.object.id, [...parts, { name: parts[0]!.name, bytes: 100 }])
  await erasing.erase('anna', before)
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

test('a file whose parts are lost is a storage error, not a truncated response', async () => {
  await erasing.work()
  const { object } = await exportAll(api, WHOLE_YEAR)
  await api.storage.remove(object.id)
  const answer = await fetch(object.file_url)
  expect([answer.status, answer.headers.get('etag'), ((await answer.json()) as { error: { code: string } }).error.code]).toEqual([
    502,
    null,
    'storage_error',
  ])
})

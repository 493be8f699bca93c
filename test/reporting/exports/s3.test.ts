import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { QUICK } from '../../harness/engine-fixture.ts'
import { item } from '../../harness/events.ts'
import { exportAll, finished, WHOLE_YEAR } from '../../harness/exports.ts'
import { readParquet } from '../../harness/parquet.ts'
import { startS3, type TestS3 } from '../../harness/s3.ts'
import { until } from '../../harness/until.ts'

const EVENTS = 95

// Export files on S3, end to end: workers write the files, the API serves them.
let s3: TestS3
let api: TestApi
beforeAll(async () => {
  s3 = await startS3()
  api = await startApi({ worker: true, leaseMs: 15_000, partRows: 20, s3, policies: QUICK })
  const events = Array.from({ length: EVENTS }, (_, i) => item({ identity_id: `u${i % 10}`, transaction: { transaction_id: `t${i}` } }))
  await api.call('POST', '/v4/events', { body: { events } })
})
afterAll(async () => {
  await api.stop()
  await s3.end()
})

const accept = async () => (await api.call('POST', '/v4/exports', { body: WHOLE_YEAR })).body.id as string
const partsOf = async (id: string) => [...(await api.storage.sizes(id)).keys()].sort()

describe('a written export', () => {
  test.each([
    {},
    { compression: 'gzip' },
    { format: 'ndjson' },
    { format: 'parquet' },
  ])('%j: is complete, as the manifest says', async options => {
    const { object, bytes, sha256 } = await exportAll(api, { ...WHOLE_YEAR, ...options })
    expect(object.manifest).toMatchObject({ rows: EVENTS, bytes: bytes.length, sha256 })
    const rows =
      object.format === 'parquet'
        ? (await readParquet(bytes)).rows.length
        : String(object.compression === 'gzip' ? gunzipSync(bytes) : bytes)
            .trimEnd()
            .split('\n').length - (object.format === 'csv' ? 1 : 0)
    expect(rows).toBe(EVENTS)
  })

  test('has its parts under the prefix, and nothing else', async () => {
    const { object } = await exportAll(api, WHOLE_YEAR)
    expect(await partsOf(object.id)).toEqual(['1.1', '2.1', '3.1', '4.1', '5.1'])
    expect(s3.requests.some(({ method, url }) => method === 'PUT' && url.startsWith(`/exported/some/where/${object.id}/1.1`))).toBe(true)
    const { object: parquet } = await exportAll(api, { ...WHOLE_YEAR, format: 'parquet' })
    expect(await partsOf(parquet.id)).toEqual(['whole.1'])
    expect(await s3.unfinished()).toEqual([])
  })

  test('headers, ranges across parts, conditional requests', async () => {
    const { object, bytes, sha256 } = await exportAll(api, WHOLE_YEAR)
    const get = (headers: Record<string, string> = {}, method = 'GET') => fetch(object.file_url, { method, headers })
    const head = await get({}, 'HEAD')
    expect([head.status, head.headers.get('etag'), head.headers.get('content-length')]).toEqual([200, `"${sha256}"`, String(bytes.length)])
    for (const [range, start, end] of [
      ['bytes=0-0', 0, 0],
      ['bytes=100-', 100, bytes.length - 1],
      ['bytes=-7', bytes.length - 7, bytes.length - 1],
      [`bytes=2000-${bytes.length - 2000}`, 2000, bytes.length - 2000],
    ] as const) {
      const part = await get({ Range: range })
      expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes ${start}-${end}/${bytes.length}`])
      expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(start, end + 1))).toBe(true)
    }
    expect((await get({ 'If-None-Match': `"${sha256}"` })).status).toBe(304)
    expect((await get({ Range: 'bytes=0-5', 'If-Range': '"other"' })).status).toBe(200)
  })

  test('loses the rows of an erased user', async () => {
    const { object } = await exportAll(api, WHOLE_YEAR)
    const { user_id } = (await api.call('GET', '/v4/identities/u3')).body
    expect((await api.call('DELETE', `/v4/customers/${user_id}`)).status).toBeLessThan(300)
    const text = await until('the file without the user', async () => {
      // A download aborts when its parts are replaced.
      const now = await fetch(object.file_url)
        .then(answer => (answer.ok ? answer.text() : undefined))
        .catch(() => undefined)
      return now?.includes(user_id) ? undefined : now
    })
    expect(text.trimEnd().split('\n')).toHaveLength(EVENTS - 9)
    const { manifest } = (await api.call('GET', `/v4/exports/${object.id}`)).body
    expect(manifest.sha256).toBe(createHash('sha256').update(text).digest('hex'))
    await until('the old parts to go', async () => {
      const { rows } = await api.pool.query<{ parts: { name: string }[] }>('select parts from exports where id = $1', [object.id])
      const parts = rows[0]!.parts.map(part => part.name).sort()
      return parts.some(name => name.includes('.erase-')) && parts.join() === (await partsOf(object.id)).join() ? true : undefined
    })
  })

  test('is removed from the bucket a week later', async () => {
    const { object } = await exportAll(api, WHOLE_YEAR)
    await api.pool.query(`update environments set clock_offset = clock_offset + interval '8 days'`)
    expect((await fetch(object.file_url)).status).toBe(404)
    await until('the file is removed', () =>
      api.storage.sizes(object.id).then(
        () => undefined,
        () => true,
      ),
    )
    await api.pool.query(`update environments set clock_offset = interval '0'`)
  })
})

describe('when S3 fails', () => {
  test('for some requests: the export is finished nevertheless, no row is doubled', async () => {
    let n = 0
    s3.befalls = ({ method }) => (method === 'PUT' && n++ % 3 < 2 ? 'fails' : undefined)
    const { object, text } = await exportAll(api, WHOLE_YEAR)
    s3.befalls = () => undefined
    const rows = text.trimEnd().split('\n').slice(1)
    expect([rows.length, new Set(rows).size]).toEqual([object.rows_written, object.rows_written])
  })

  test('permanently: the export fails with a reason after all attempts, the reason shows no address; the next export works', async () => {
    s3.befalls = ({ method }) => (method === 'GET' ? undefined : 'fails')
    const failed = await finished(api.call, await accept(), undefined, 60_000)
    s3.befalls = () => undefined
    expect(failed).toMatchObject({ status: 'failed', file_url: null, error: { code: 'storage_error', message: expect.any(String) } })
    expect(failed.error.message).not.toMatch(/127|S3|exported/)
    await exportAll(api, WHOLE_YEAR)
  })

  test('because the server is down: a download answers 502, and works again when the server is back', async () => {
    const { object, bytes } = await exportAll(api, WHOLE_YEAR)
    await s3.stop()
    const answer = await fetch(object.file_url)
    expect([answer.status, (await answer.text()).includes('127.0.0.1')]).toEqual([502, false])
    await s3.start()
    expect((await (await fetch(object.file_url)).arrayBuffer()).byteLength).toBe(bytes.length)
  })

  test('a part that is lost before the file is published is detected', async () => {
    s3.befalls = async ({ method, url }) => {
      const id = method === 'PUT' && /where\/(.*)\/5\.1/.exec(url)?.[1]
      if (id) await api.storage.prune(id, async () => ['1.1'])
      return undefined
    }
    expect(await finished(api.call, await accept())).toMatchObject({ status: 'failed', error: { code: 'storage_error' } })
    s3.befalls = () => undefined
  })

  test('a part that is missing from a published file: 502 instead of a truncated file', async () => {
    const { object } = await exportAll(api, WHOLE_YEAR)
    await api.storage.prune(object.id, async () => ['1.1'])
    expect((await fetch(object.file_url)).status).toBe(502)
    const { object: other } = await exportAll(api, WHOLE_YEAR)
    await api.storage.prune(other.id, async () => ['3.1'])
    await expect(fetch(other.file_url).then(answer => answer.arrayBuffer())).rejects.toThrow()
  })
})

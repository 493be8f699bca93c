import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { amazonS3 } from '../../workflows/report-destinations/amazon-s3.ts'
import { reportOf, scopeOf } from '../harness/report.ts'
import { type Instead, S3_KEYS, type S3Host, s3Host } from '../harness/report-bucket.ts'
import { until } from '../harness/until.ts'

let s3: S3Host
let prefix: string
beforeAll(async () => {
  s3 = await s3Host()
})
afterAll(() => s3.close())
beforeEach(() => {
  prefix = `${randomBytes(6).toString('hex')}/`
})
afterEach(() => {
  s3.instead = () => undefined
  s3.requests.length = 0
})

const destination = amazonS3({ allowPrivateNetwork: true })
const settings = (more: object = {}) => ({ ...S3_KEYS, endpoint: s3.endpoint, prefix, ...more })
const scope = (more: object = {}, signal?: AbortSignal) => scopeOf(settings(more), signal ? { signal } : {})
const name = () => `${prefix}rep_1/20260101T090000Z_20260102T090000Z`
const MB = 1024 * 1024

describe('a file', () => {
  test.each([
    ['empty', 0],
    ['small', 1000],
    ['of several parts', 20 * MB + 12_345],
  ])('that is %s arrives byte for byte, its manifest beside it', async (_what, bytes) => {
    const content = randomBytes(bytes)
    const report = reportOf({ content })
    expect(await destination.deliver(report, scope())).toMatchObject({ outcome: 'delivered', httpStatus: 200, error: null })
    const file = (await s3.get(`${name()}.csv`))!
    expect([file.content.equals(content), file.contentType]).toEqual([true, 'text/csv; charset=utf-8'])
    const manifest = (await s3.get(`${name()}.csv.manifest.json`))!
    expect([JSON.parse(manifest.content.toString()), manifest.contentType]).toEqual([report.export.manifest, 'application/json'])
  })

  test.each([
    ['json', 'application/json'],
    ['ndjson', 'application/x-ndjson'],
    ['parquet', 'application/vnd.apache.parquet'],
  ] as const)('of format %s has its ending and type', async (format, type) => {
    await destination.deliver(reportOf({ export: { format } }), scope())
    expect((await s3.get(`${name()}.${format}`))!.contentType).toBe(type)
  })

  test('overwrites that of an earlier attempt, and lies at the root without a prefix', async () => {
    for (const content of ['old', 'new'])
      await destination.deliver(reportOf({ content: Buffer.from(content) }), scope({ prefix: undefined }))
    expect((await s3.get('rep_1/20260101T090000Z_20260102T090000Z.csv'))!.content.toString()).toBe('new')
  })

  test.each([
    ['ends too early', 20 * MB, async (content: Buffer) => Readable.from([content.subarray(0, 12 * MB)])],
    ['ends too late', 1000, async (content: Buffer) => Readable.from([content, content])],
    [
      'breaks off',
      20 * MB,
      async (content: Buffer) =>
        Readable.from(
          (function* () {
            yield content.subarray(0, 12 * MB)
            throw new Error('disk')
          })(),
        ),
    ],
    ['cannot be opened', 1000, async () => Promise.reject(new Error('no disk'))],
  ])('that %s is our own failure and leaves no object', async (_what, bytes, open) => {
    const content = randomBytes(bytes)
    const report = reportOf({ content, export: { openFile: () => open(content) } })
    await expect(destination.deliver(report, scope())).rejects.toThrow('the file of the report')
    expect([await s3.get(`${name()}.csv`), await s3.get(`${name()}.csv.manifest.json`)]).toEqual([null, null])
  })
})

describe('a refusal', () => {
  const refuse = (instead: Instead, of: RegExp = /./) => {
    s3.instead = ({ method, url }) => (of.test(`${method} ${url}`) ? instead : undefined)
  }

  test.each([
    [403, 'InvalidAccessKeyId', 'retry'],
    [404, 'NoSuchBucket', 'reject'],
    [400, 'InvalidBucketName', 'reject'],
    [301, 'PermanentRedirect', 'retry'],
  ])('%i %s: %s', async (status, code, outcome) => {
    refuse({ status, code })
    expect(await destination.deliver(reportOf(), scope())).toMatchObject({ outcome, httpStatus: status, error: code })
  })

  test('says when to come again', async () => {
    refuse({ status: 503, code: 'SlowDown', headers: { 'retry-after': '120' } })
    const sent = await destination.deliver(reportOf(), scope())
    expect(sent).toMatchObject({ outcome: 'retry', httpStatus: 503, error: 'SlowDown', retryAfterSeconds: 120 })
  })

  test('of a part leaves no object and removes the other parts', async () => {
    refuse({ status: 403, code: 'AccessDenied' }, /partNumber=2/)
    const sent = await destination.deliver(reportOf({ content: randomBytes(20 * MB) }), scope())
    expect(sent.outcome).not.toBe('delivered')
    expect(await s3.get(`${name()}.csv`)).toBeNull()
    expect(s3.requests.some(request => /^DELETE .*uploadId=/.test(request))).toBe(true)
  })

  test('of the manifest is a refusal of the delivery', async () => {
    refuse({ status: 403, code: 'AccessDenied' }, /manifest/)
    expect(await destination.deliver(reportOf(), scope())).toMatchObject({ outcome: 'retry', httpStatus: 403 })
  })

  test('by closing the connection', async () => {
    refuse('cut')
    expect(await destination.deliver(reportOf(), scope())).toMatchObject({ outcome: 'retry', httpStatus: null, error: 'connection_failed' })
  })
})

describe('an endpoint', () => {
  test.each([
    'http://127.0.0.1:9',
    'https://localhost:9',
    'https://[::1]:9',
    'http://example.com',
    'ftp://example.com',
    'nothing',
  ])('of the operator’s own network, or unencrypted, is not called: %s', async endpoint => {
    const sent = await amazonS3({ allowPrivateNetwork: false }).deliver(reportOf(), scope({ endpoint }))
    expect(sent).toMatchObject({ outcome: 'retry', error: 'address_refused', httpStatus: null })
  })
})

test('an upload is left when the lease is lost, and its parts are removed', async () => {
  const lease = new AbortController()
  s3.instead = ({ url }) => (url!.includes('partNumber=2') ? 'hang' : undefined)
  const sending = destination.deliver(reportOf({ content: randomBytes(20 * MB) }), scope({}, lease.signal))
  const lost = expect(sending).rejects.toThrow('lost')
  await until('a part hangs', () => (s3.requests.some(request => request.includes('partNumber=2')) ? true : undefined))
  lease.abort(new Error('lost'))
  await lost
  expect(s3.requests.some(request => /^DELETE .*uploadId=/.test(request))).toBe(true)
  expect(await s3.get(`${name()}.csv`)).toBeNull()
})

describe('a connection test', () => {
  test('writes an object and removes it', async () => {
    expect(await destination.test!(scope())).toMatchObject({ outcome: 'delivered' })
    expect(s3.requests.map(request => request.replace(/\?.*/, ''))).toEqual([
      `PUT /reports/${prefix}connection-test.txt`,
      `DELETE /reports/${prefix}connection-test.txt`,
    ])
    expect(await s3.get(`${prefix}connection-test.txt`)).toBeNull()
  })

  test('tells what is wrong', async () => {
    s3.instead = () => ({ status: 403, code: 'SignatureDoesNotMatch' })
    expect(await destination.test!(scope())).toMatchObject({ outcome: 'retry', httpStatus: 403, error: 'SignatureDoesNotMatch' })
  })
})

import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { googleTokens } from '../../workflows/outgoing/google-token.ts'
import { outgoing } from '../../workflows/outgoing/outgoing.ts'
import { googleCloudStorage } from '../../workflows/report-destinations/google-cloud-storage.ts'
import { type CloudStorage, cloudStorage } from '../harness/cloud-storage.ts'
import { reportOf, scopeOf } from '../harness/report.ts'
import type { VendorReply } from '../harness/vendor.ts'

const out = outgoing({ allowPrivateNetwork: true })
let cloud: CloudStorage
beforeAll(async () => {
  cloud = await cloudStorage()
})
afterAll(() => Promise.all([cloud.vendor.close(), out.close()]))
afterEach(() => {
  cloud.objects.clear()
  cloud.next.reply = () => undefined
  cloud.next.keepsOnly = undefined
})

const NAME = 'daily/rep_1/20260101T090000Z_20260102T090000Z.csv'
const destination = () => googleCloudStorage(out, googleTokens(out))
const settings = (more: object = {}) => ({
  bucket: 'reports',
  prefix: 'daily/',
  service_account_key: cloud.account.json(),
  base_url: cloud.vendor.url,
  ...more,
})
const scope = (more: object = {}, signal?: AbortSignal) => scopeOf(settings(more), signal ? { signal } : {})
const MB = 1024 * 1024

describe('a file', () => {
  test.each([
    ['empty', 0],
    ['small', 1000],
    ['of one slice', 8 * MB],
    ['of a slice and a byte', 8 * MB + 1],
    ['of several slices', 20 * MB + 12_345],
  ])('that is %s arrives byte for byte, its manifest beside it', async (_what, bytes) => {
    const content = randomBytes(bytes)
    const report = reportOf({ content })
    expect(await destination().deliver(report, scope())).toMatchObject({ outcome: 'delivered', httpStatus: 200, error: null })
    const file = cloud.objects.get(NAME)!
    expect([file.content.equals(content), file.contentType]).toEqual([true, 'text/csv; charset=utf-8'])
    const manifest = cloud.objects.get(`${NAME}.manifest.json`)!
    expect([JSON.parse(manifest.content.toString()), manifest.contentType]).toEqual([report.export.manifest, 'application/json'])
    expect([...cloud.objects.keys()]).toHaveLength(2)
  })

  test('of which Google has kept only a part goes on from there', async () => {
    const content = randomBytes(20 * MB)
    cloud.next.keepsOnly = 3 * MB
    expect(await destination().deliver(reportOf({ content }), scope())).toMatchObject({ outcome: 'delivered' })
    expect(cloud.objects.get(NAME)!.content.equals(content)).toBe(true)
  })

  test('of which Google keeps nothing is not sent for ever', async () => {
    cloud.next.reply = request => (request.method === 'PUT' ? { status: 308 } : undefined)
    expect(await destination().deliver(reportOf({ content: randomBytes(9 * MB) }), scope())).toMatchObject({
      outcome: 'retry',
      httpStatus: 308,
    })
  })

  test('of which Google keeps one byte a request ends with the time that a file of its size may take', async () => {
    let puts = 0
    cloud.next.reply = request => {
      if (request.method === 'PUT') puts++
      return request.method === 'PUT' ? { status: 308, headers: { range: `bytes=0-${puts - 1}` } } : undefined
    }
    const bytes: number[] = []
    const limitOf = (file: { bytes: number }) => {
      bytes.push(file.bytes)
      // Enough for the first requests on a machine that is busy.
      return 2_000
    }
    const sent = googleCloudStorage(out, googleTokens(out), limitOf).deliver(reportOf({ content: randomBytes(9 * MB) }), scope())
    expect(await sent).toMatchObject({ outcome: 'retry', httpStatus: null, error: 'timeout' })
    expect([bytes, puts > 0, [...cloud.objects.keys()]]).toEqual([[9 * MB], true, []])
  })

  test('overwrites that of an earlier attempt', async () => {
    await destination().deliver(reportOf({ content: Buffer.from('old') }), scope())
    await destination().deliver(reportOf({ content: Buffer.from('new') }), scope())
    expect(cloud.objects.get(NAME)!.content.toString()).toBe('new')
  })

  test('that ends too early, or cannot be read, is our own failure and leaves no object', async () => {
    const content = randomBytes(9 * MB)
    for (const openFile of [
      async () => Readable.from([content.subarray(0, 8 * MB + 10)]),
      async () => Promise.reject(new Error('no disk')),
      async () => Readable.from([content, content]),
    ])
      await expect(destination().deliver(reportOf({ content, export: { openFile } }), scope())).rejects.toThrow('the file of the report')
    expect([...cloud.objects.keys()]).toEqual([])
  })

  test('goes with a token of its own making, which is asked for again when Google has forgotten it', async () => {
    const once = destination()
    const before = cloud.tokens.given()
    await once.deliver(reportOf(), scope())
    await once.deliver(reportOf(), scope())
    expect(cloud.tokens.given() - before).toBe(1)
    cloud.tokens.revoke()
    expect(await once.deliver(reportOf(), scope())).toMatchObject({ outcome: 'delivered' })
    expect(cloud.tokens.given() - before).toBe(2)
  })
})

describe('a refusal', () => {
  const refusing = (reply: VendorReply) => {
    cloud.next.reply = () => reply
  }

  test.each([
    [503, 'retry'],
    [429, 'retry'],
    [403, 'retry'],
    [401, 'retry'],
    [400, 'reject'],
  ])('with %i: %s', async (status, outcome) => {
    refusing({ status, body: { error: { code: status, message: `about ${status}` } }, headers: { 'retry-after': '30' } })
    const sent = await destination().deliver(reportOf(), scope())
    expect(sent).toMatchObject({ outcome, httpStatus: status, error: `about ${status}`, retryAfterSeconds: 30 })
  })

  test('in words that cannot be stored is told without them', async () => {
    refusing({ status: 400, body: { error: { message: `no\0 ${'x'.repeat(1020)}\u{1f600}` } } })
    const { error } = await destination().deliver(reportOf(), scope())
    expect(error).toBe(`no ${'x'.repeat(1020)}\ufffd`)
  })

  test('in the middle of an upload leaves no manifest', async () => {
    let puts = 0
    cloud.next.reply = request => (request.method === 'PUT' && ++puts === 2 ? { status: 503 } : undefined)
    expect(await destination().deliver(reportOf({ content: randomBytes(20 * MB) }), scope())).toMatchObject({
      outcome: 'retry',
      httpStatus: 503,
    })
    expect([...cloud.objects.keys()]).toEqual([])
  })

  test('of the manifest alone is a refusal of the delivery', async () => {
    cloud.next.reply = request => (request.query.get('name')?.endsWith('.json') ? { status: 500 } : undefined)
    expect(await destination().deliver(reportOf(), scope())).toMatchObject({ outcome: 'retry', httpStatus: 500 })
  })

  test('a bucket that is not there is final', async () => {
    const sent = await destination().deliver(reportOf(), scope({ bucket: 'other' }))
    expect(sent).toMatchObject({ outcome: 'reject', httpStatus: 404, error: 'The specified bucket does not exist.' })
  })

  test.each(['cut', 'hang'] as const)('where the connection is %s', async how => {
    const lease = new AbortController()
    cloud.next.reply = () => {
      if (how === 'hang') lease.abort(new Error('lost'))
      return how
    }
    const sent = destination().deliver(reportOf(), scope({}, lease.signal))
    if (how === 'hang') await expect(sent).rejects.toThrow('lost')
    else expect(await sent).toMatchObject({ outcome: 'retry', error: 'connection_failed', httpStatus: null })
  })

  test('an account that Google does not know, or that is none, may be mended', async () => {
    const { googleAccount } = await import('../harness/google.ts')
    const stranger = googleAccount(() => `${cloud.vendor.url}/token`).json()
    expect(await destination().deliver(reportOf(), scope({ service_account_key: stranger }))).toMatchObject({ outcome: 'retry' })
    const sent = await destination().deliver(reportOf(), scope({ service_account_key: '{}' }))
    expect(sent).toMatchObject({ outcome: 'retry', error: 'service_account_key_invalid' })
  })
})

describe('a connection test', () => {
  test('writes an object and removes it', async () => {
    expect(await destination().test!(scope())).toMatchObject({ outcome: 'delivered' })
    const names = cloud.vendor.requests.slice(-2).map(({ method, path, query }) => [method, query.get('name') ?? path])
    expect(names).toEqual([
      ['POST', 'daily/connection-test.txt'],
      ['DELETE', '/storage/v1/b/reports/o/daily%2Fconnection-test.txt'],
    ])
    expect([...cloud.objects.keys()]).toEqual([])
  })

  test('fails where nothing can be removed', async () => {
    cloud.next.reply = request => (request.method === 'DELETE' ? { status: 403 } : undefined)
    expect(await destination().test!(scope())).toMatchObject({ outcome: 'retry', httpStatus: 403 })
  })
})

import { type IncomingHttpHeaders, request } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { item } from '../harness/events.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
  const events = Array.from({ length: 20 }, () => item())
  expect((await api.call('POST', '/v4/events', { body: { events } })).body.created).toBe(20)
})
afterAll(() => api.stop())

type Raw = { status: number; headers: IncomingHttpHeaders; bytes: Buffer }

/** `fetch` would decompress, and say nothing of it. */
const raw = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Raw> =>
  new Promise((resolve, reject) => {
    const given = { Authorization: `Bearer ${api.project.secret}`, ...headers }
    const asked = request(api.url + path, { method, headers: given }, answer => {
      const chunks: Buffer[] = []
      answer.on('data', chunk => chunks.push(chunk))
      answer.on('end', () => resolve({ status: answer.statusCode!, headers: answer.headers, bytes: Buffer.concat(chunks) }))
    })
    asked.on('error', reject)
    asked.end()
  })

const FORMS = [
  ['br', brotliDecompressSync],
  ['gzip', gunzipSync],
] as const

test.each(['/v4/openapi.json', '/v4/events?limit=20'])('%s is sent in the form that the client accepts', async path => {
  const plain = await raw(path)
  expect(plain.headers['content-encoding']).toBeUndefined()
  expect(plain.headers.vary).toBe('Accept-Encoding')
  for (const [encoding, decompress] of FORMS) {
    const { status, headers, bytes } = await raw(path, { 'Accept-Encoding': encoding })
    expect([status, headers['content-encoding'], headers.vary]).toEqual([200, encoding, 'Accept-Encoding'])
    expect(headers['content-type']).toBe('application/json; charset=utf-8')
    expect(Number(headers['content-length'])).toBe(bytes.length)
    expect(bytes.length).toBeLessThan(plain.bytes.length / 3)
    expect(decompress(bytes).equals(plain.bytes)).toBe(true)
  }
  expect((await raw(path, { 'Accept-Encoding': 'gzip, deflate, br' })).headers['content-encoding']).toBe('br')
  expect((await raw(path, { 'Accept-Encoding': 'br;q=0, deflate' })).headers['content-encoding']).toBeUndefined()
})

test('each form of the description has its own ETag, and who has it gets 304; HEAD tells the same headers', async () => {
  const path = '/v4/openapi.json'
  const etags = new Set<string>()
  for (const encoding of ['br', 'gzip', 'identity']) {
    const accept = { 'Accept-Encoding': encoding }
    const { headers, bytes } = await raw(path, accept)
    etags.add(headers.etag!)
    const known = await raw(path, { ...accept, 'If-None-Match': headers.etag! })
    expect([known.status, known.bytes.length, known.headers.vary]).toEqual([304, 0, 'Accept-Encoding'])
    const head = await raw(path, accept, 'HEAD')
    expect([head.headers['content-length'], head.headers['content-encoding'], head.headers.etag]).toEqual([
      String(bytes.length),
      headers['content-encoding'],
      headers.etag,
    ])
  }
  expect(etags.size).toBe(3)
})

test.each([
  ['a small list', '/v4/entitlements'],
  ['what is no list', '/v4/users/nobody'],
  ['a list with secrets', '/v4/integrations'],
  ['health', '/healthz'],
])('%s stays as it is', async (_what, path) => {
  const { headers } = await raw(path, { 'Accept-Encoding': 'gzip, br' })
  expect(headers['content-encoding']).toBeUndefined()
})

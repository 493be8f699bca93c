// Rate limits of v3: of an address, of a Project Key, and of a Secret Key, which has one bucket in v3 and v4.
import { afterEach, expect, test } from 'vitest'
import { startApi, type TestApi, type TestApiOptions } from '../harness/api.ts'
import { type V3Answer, v3Client } from '../harness/v3.ts'

let api: TestApi
afterEach(() => api.stop())
const start = async (options: TestApiOptions) => {
  api = await startApi(options)
  return v3Client(api)
}

const SLOW = { perSecond: 0.01, burst: 3 }
const expectLimited = ({ status, headers, body }: V3Answer) => {
  expect([status, body.error.type, body.error.code]).toEqual([429, 'request', 'rate_limit_exceeded'])
  expect(body._meta).toEqual({ reference: `${api.url}/docs/errors#rate_limit_exceeded` })
  expect(Number(headers['retry-after'])).toBeGreaterThan(90)
  expect(headers['access-control-expose-headers']).toBe('Retry-After, X-Clock, X-Request-Id')
}

test('an address has one bucket for Project Keys and refused keys', async () => {
  const v3 = await start({ addressRateLimit: SLOW })
  expect((await v3('GET', '/v3/users/x')).status).toBe(404)
  expect((await v3('GET', '/v3/users/x', { key: 'y'.repeat(32) })).status).toBe(401)
  expect((await v3('GET', '/v3/users/x', { key: null })).status).toBe(401)
  expectLimited(await v3('GET', '/v3/users/x'))
  expectLimited(await v3('GET', '/v3/users/x', { key: null }))
  expect((await v3('GET', '/v3/users/x', { key: api.project.secret })).status).toBe(404)
  expect((await v3('OPTIONS', '/v3/users/x', { key: null })).status).toBe(204)
  expect((await api.call('GET', '/v4/events')).status).toBe(200)
})

test('behind a proxy the address is that of the client, of IPv6 its network', async () => {
  const v3 = await start({ addressRateLimit: { ...SLOW, burst: 1 }, trustedProxies: 1 })
  const from = (address: string) => v3('GET', '/v3/users/x', { headers: { 'X-Forwarded-For': `192.0.2.9, ${address}` } })
  for (const address of ['192.0.2.1', '192.0.2.2', '2001:db8::1', '2001:db8:0:1::1']) expect((await from(address)).status).toBe(404)
  for (const address of ['192.0.2.1', '2001:db8::2', '2001:db8:0:1:ffff::1']) expectLimited(await from(address))
})

test('a Project Key has a bucket of its own in each environment; unknown routes take nothing', async () => {
  const v3 = await start({ projectRateLimit: SLOW })
  for (let i = 0; i < 5; i++) expect((await v3('GET', '/v3/nothing')).status).toBe(404)
  for (let i = 0; i < 3; i++) expect((await v3('GET', '/v3/users/x')).headers['ratelimit-remaining']).toBe(String(2 - i))
  expectLimited(await v3('GET', '/v3/users/x'))
  expect((await v3('GET', '/v3/users/x', { key: `test_${api.project.projectKey}` })).status).toBe(404)
})

test('a Secret Key has one bucket in v3 and v4', async () => {
  const v3 = await start({ rateLimit: SLOW })
  const key = api.project.secret
  expect((await v3('GET', '/v3/users/x', { key })).headers['ratelimit-remaining']).toBe('2')
  expect((await api.call('GET', '/v4/events')).headers.get('ratelimit-remaining')).toBe('1')
  expect((await v3('GET', '/v3/users/x', { key })).headers['ratelimit-remaining']).toBe('0')
  expectLimited(await v3('GET', '/v3/users/x', { key }))
})

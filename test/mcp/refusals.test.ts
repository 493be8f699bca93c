// What the transport refuses before a tool is called: status, header and envelope.
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endGrant } from '../../domain/operators/grants/grant.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { newGrant, type TestGrant } from '../harness/grants.ts'
import { namedKey } from '../harness/named-keys.ts'

let api: TestApi
let grant: TestGrant
beforeAll(async () => {
  api = await startApi()
  grant = await newGrant(api, api.project)
})
afterAll(() => api.stop())

const message = (name: string, args: object = {}, id = 1) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
})
type Options = { key?: string | null; headers?: Record<string, string>; query?: string }
const post = (body: unknown, { key = grant.token, headers = {}, query = '' }: Options = {}) =>
  api.call('POST', `/mcp${query}`, { key, raw: typeof body === 'string' ? body : JSON.stringify(body), headers })

describe('who is refused with 401', () => {
  const metadata = () => `resource_metadata="${api.url}/.well-known/oauth-protected-resource/mcp"`
  const refused = async (key: string | null) => {
    const { status, body, headers } = await post(message('list_events'), { key })
    return [status, body.error.code, headers.get('www-authenticate')]
  }

  test('a caller without a token learns where to get one', async () => {
    expect(await refused(null)).toEqual([401, 'control_unauthorized', `Bearer ${metadata()}`])
  })

  test('keys of the project, refresh tokens and unknown tokens are invalid tokens', async () => {
    const { key } = await namedKey(api, api.project, ['events:read'])
    const others = [api.project.secret, api.project.sandbox, api.project.projectKey, key, grant.refreshToken, 'pna_unknown']
    for (const other of others)
      expect(await refused(other)).toEqual([401, 'control_unauthorized', `Bearer error="invalid_token", ${metadata()}`])
  })

  test('an expired token, an ended grant and a closed account', async () => {
    const [expired, ended, closed] = [await newGrant(api, api.project), await newGrant(api, api.project), await newGrant(api, api.project)]
    await api.pool.query('update mcp_tokens set expires_at = clock_timestamp() where grant_id = $1', [expired.id])
    await endGrant(api.pool, ended.id)
    await api.pool.query('update operators set closed_at = clock_timestamp() where id = $1', [closed.operator])
    for (const { token } of [expired, ended, closed]) expect((await refused(token))[0]).toBe(401)
  })

  test('whoever tries many unknown tokens is slowed down, and nobody else at the same address whose token is known', async () => {
    const behind = await startApi({ trustedProxies: 1 })
    try {
      const { token } = await newGrant(behind, behind.project)
      const headers = { 'X-Forwarded-For': '198.51.100.79' }
      const status = async (key: string) =>
        (await behind.call('POST', '/mcp', { key, headers, raw: JSON.stringify(message('list_products')) })).status
      expect(await status(token)).toBe(200)
      const unknown = Array.from({ length: 120 }, (_, n) => `pna_${String(n).padStart(43, 'x')}`)
      expect(new Set(await Promise.all(unknown.map(status)))).toEqual(new Set([401, 429]))
      expect(await status(token)).toBe(200)
    } finally {
      await behind.stop()
    }
  })

  test('v4 and v3 refuse tokens of MCP', async () => {
    expect((await api.call('GET', '/v4/events', { key: grant.token })).status).toBe(401)
    expect((await api.call('GET', '/v3/users/someone/entitlements', { key: grant.token })).status).toBe(401)
  })
})

test('other methods answer 405', async () => {
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const { status, headers, body } = await api.call(method, '/mcp', { key: grant.token })
    expect([status, headers.get('allow'), body.error.code]).toEqual([405, 'POST', 'invalid_request'])
  }
})

describe('pages of other sites', () => {
  const from = async (origin: string) => (await post(message('get_ledger'), { headers: { Origin: origin } })).status

  test('are refused by their Origin, unless the operator has allowed it', async () => {
    expect(await from('https://evil.example')).toBe(403)
    expect(await from('null')).toBe(403)
    expect(await from('https://assistant.example.org.evil.example')).toBe(403)
    expect(await from('https://assistant.example.org')).toBe(200)
    expect(await from(api.url)).toBe(200)
  })

  test('are refused by the Host under which they reach the service, before the token is read', async () => {
    const { port } = new URL(api.url)
    const status = (host: string) =>
      new Promise<number>((resolve, reject) => {
        const sent = request({ port, host: '127.0.0.1', path: '/mcp', method: 'POST', headers: { Host: host } }, answer => {
          answer.resume()
          resolve(answer.statusCode!)
        })
        sent.on('error', reject).end()
      })
    expect(await status(`rebound.example:${port}`)).toBe(403)
    expect(await status(`localhost:${port}`)).toBe(401)
  })
})

describe('bodies', () => {
  test('of another type, or for which no answer is accepted', async () => {
    expect((await post(message('get_ledger'), { headers: { 'Content-Type': 'text/plain' } })).status).toBe(415)
    expect((await post(message('get_ledger'), { headers: { Accept: 'text/html' } })).status).toBe(406)
    expect((await post('{')).status).toBe(400)
  })

  test('over 1 MiB are refused, but for events', async () => {
    const filler = 'x'.repeat(1_100_000)
    const refused = await post(message('create_segment', { name: filler }))
    expect([refused.status, refused.body.error.code]).toEqual([413, 'invalid_request'])
    const events = Array.from({ length: 300 }, (_, at) => ({ name: 'opened', user_id: `u${at}`, properties: { text: 'x'.repeat(4_000) } }))
    const taken = await post(message('create_events', { events }))
    expect(taken.status).toBe(200)
    expect((await post([message('create_events', { events }), message('get_ledger', {}, 2)])).status).toBe(413)
    expect((await post(message('create_events', { events: [filler.repeat(8)] }))).status).toBe(413)
  })
})

describe('what the address chooses', () => {
  test('is checked', async () => {
    for (const query of ['?toolsets=events,nothing', '?toolsets=', '?read_only=1', '?tools=all', '?other=1', '?tools=find&tools=find']) {
      const { status, body } = await post(message('get_ledger'), { query })
      expect([query, status, body.error.code]).toEqual([query, 400, 'invalid_data'])
    }
  })
})

test('a grant makes 120 calls a minute', async () => {
  const busy = await newGrant(api, api.project)
  const batch = (size: number) => Array.from({ length: size }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }))
  expect((await post(batch(100), { key: busy.token })).status).toBe(200)
  expect((await post(batch(20), { key: busy.token })).status).toBe(200)
  const { status, headers, body } = await post(batch(1), { key: busy.token })
  expect([status, body.error.code]).toEqual([429, 'rate_limit_exceeded'])
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(50)
  expect((await post(batch(1))).status).toBe(200)
})

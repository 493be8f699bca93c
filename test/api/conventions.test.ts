import { request } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rotateSecretKey } from '../../domain/projects/keys.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { item } from '../harness/events.ts'
import { until } from '../harness/until.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const error = (type: string, code: string) => ({ error: { type, code, message: expect.any(String) } })
const user = { body: { environment: 'prod' } }

describe('authentication', () => {
  test.each([
    ['none', null],
    ['unknown', `sk_${'x'.repeat(40)}`],
    ['malformed', 'hello'],
    ['with a space', 'sk_a b'],
  ])('%s: 401, on unknown paths, too, with WWW-Authenticate', async (_name, key) => {
    for (const path of ['/v4/events', '/v4/nothing']) {
      const answer = await api.call('GET', path, { key })
      expect([path, answer.status]).toEqual([path, 401])
      expect(answer.body).toEqual(error('request', 'control_unauthorized'))
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
  })

  test('the scheme is case-insensitive, the key is exact', async () => {
    const callWith = (value: string) => api.call('GET', '/v4/events', { key: null, headers: { Authorization: value } })
    expect((await callWith(`bEARER ${api.project.secret}`)).status).toBe(200)
    expect((await callWith(`Bearer ${api.project.secret}x`)).status).toBe(401)
    expect((await callWith(`Bearer ${api.project.secret.toUpperCase()}`)).status).toBe(401)
    expect((await callWith(`Basic ${api.project.secret}`)).status).toBe(401)
  })

  test('a Project Key is recognized but has no access to v4', async () => {
    for (const key of [api.project.projectKey, `test_${api.project.projectKey}`]) {
      const answer = await api.call('GET', '/v4/events', { key })
      expect(answer.status).toBe(403)
      expect(answer.body).toEqual(error('request', 'control_forbidden'))
    }
  })

  test('a rotated key is refused after its grace period, and the new key works at once', async () => {
    const project = await api.newProject()
    const fresh = await transaction(api.pool, tx => rotateSecretKey(tx, api.secrets, project.id))
    expect((await api.call('GET', '/v4/events', { key: project.secret })).status).toBe(200)
    expect((await api.call('GET', '/v4/events', { key: fresh })).status).toBe(200)
    const another = await api.newProject()
    await transaction(api.pool, tx => rotateSecretKey(tx, api.secrets, another.id))
    await api.pool.query(
      `update keys set expires_at = clock_timestamp() - interval '1 second' where project = $1 and expires_at is not null`,
      [another.id],
    )
    expect((await api.call('GET', '/v4/events', { key: another.secret })).status).toBe(401)
  })

  test('keys are stored as hashes and sealed, never in clear', async () => {
    const { rows } = await api.pool.query('select k.*, encode(sealed, $1) as text from keys k', ['escape'])
    expect(JSON.stringify(rows)).not.toContain(api.project.secret.slice(3))
    expect(rows.length).toBeGreaterThanOrEqual(3)
  })
})

describe('routes', () => {
  test('unknown: 404 invalid_request; known with another method: 405 with Allow', async () => {
    for (const path of ['/v4/nothing', '/v4/events/', '/v4/Events', '/v4']) {
      const answer = await api.call('GET', path)
      expect([path, answer.status]).toEqual([path, 404])
      expect(answer.body).toEqual(error('request', 'invalid_request'))
    }
    const wrong = await api.call('DELETE', '/v4/events')
    expect(wrong.status).toBe(405)
    expect(wrong.headers.get('allow')).toBe('GET, HEAD, POST')
    expect((await api.call('PUT', '/v4/exports/history')).headers.get('allow')).toBe('GET, HEAD')
  })

  test('outside the API: 404 in the same shape, without a key', async () => {
    const answer = await api.call('GET', '/nothing', { key: null })
    expect([answer.status, answer.body]).toEqual([404, error('request', 'invalid_request')])
  })

  test('HEAD is GET without a body', async () => {
    const answer = await api.call('HEAD', '/v4/events')
    expect([answer.status, answer.text]).toEqual([200, ''])
    expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(10)
  })

  test('broken percent-encoding in a path is 400, not a crash', async () => {
    const status = await new Promise(resolve => {
      const { port } = new URL(api.url)
      request({ port, path: '/v4/users/%ff', headers: { Authorization: `Bearer ${api.project.secret}` } }, answer =>
        resolve(answer.statusCode),
      ).end()
    })
    expect(status).toBe(400)
  })

  test('the request id is the given one when it is valid, else a new one', async () => {
    const callWith = async (id: string) =>
      (await api.call('GET', '/v4/events', { headers: { 'X-Request-Id': id } })).headers.get('x-request-id')
    expect(await callWith('abc-1.2_3')).toBe('abc-1.2_3')
    expect(await callWith('a b')).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('bodies', () => {
  const send = (raw: string | Uint8Array, headers: Record<string, string> = {}) => api.call('POST', '/v4/users', { raw, headers })

  test.each([
    ['malformed JSON', '{', 400],
    ['not UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 400],
    ['over 1 MiB', JSON.stringify({ environment: 'x'.repeat(1024 * 1024) }), 413],
  ])('%s', async (_name, raw, status) => {
    const answer = await send(raw)
    expect(answer.status).toBe(status)
    expect(answer.body).toEqual(error('request', 'invalid_request'))
  })

  test.each([['text/plain'], ['application/xml'], ['application/jsonx']])('%s is 415', async type => {
    const answer = await send('{"environment":"prod"}', { 'Content-Type': type })
    expect(answer.status).toBe(415)
    expect(answer.body).toEqual(error('request', 'invalid_request'))
  })

  test('a charset is allowed, a compressed body is not', async () => {
    expect((await send('{"environment":"prod"}', { 'Content-Type': 'application/json; charset=utf-8' })).status).toBe(201)
    expect((await send('{}', { 'Content-Encoding': 'gzip' })).status).toBe(415)
  })

  test('a missing body counts as {}; a body that is not an object, an unknown field and deep nesting are 400', async () => {
    expect((await api.call('POST', '/v4/users')).body.error.details[0].field).toBe('environment')
    expect((await send('')).body.error.details[0].field).toBe('environment')
    expect((await send('[]')).body.error.details[0].field).toBe('body')
    expect((await send('null')).body.error.details[0].field).toBe('body')
    expect((await send('{"environment":"prod","id":"x"}')).body.error.details[0].field).toBe('id')
    expect((await send(`{"a":${'['.repeat(70)}${']'.repeat(70)}}`)).status).toBe(400)
    expect((await send(`${'['.repeat(500_000)}`)).status).toBe(400)
  })

  test('NUL in a string is refused with the field', async () => {
    const answer = await api.call('POST', '/v4/identities', { raw: '{"identity_id":"a\\u0000"}' })
    expect(answer.status).toBe(400)
    expect(answer.body.error.details[0].field).toBe('identity_id')
  })

  test('an operation without body ignores a body', async () => {
    const { port } = new URL(api.url)
    const options = {
      port,
      path: '/v4/events',
      headers: { Authorization: `Bearer ${api.project.secret}`, 'Content-Length': '3', 'Content-Type': 'text/plain' },
    }
    // fetch sends no body with GET.
    const callWith = () =>
      new Promise(resolve => request(options, answer => answer.resume().on('end', () => resolve(answer.statusCode))).end('{"['))
    expect([await callWith(), await callWith()]).toEqual([200, 200])
  })
})

describe('Idempotency-Key', () => {
  const create = (key: string, body: unknown = { environment: 'prod' }, secret?: string) =>
    api.call('POST', '/v4/users', { body, headers: { 'Idempotency-Key': key }, ...(secret && { key: secret }) })
  const users = async () => (await api.pool.query('select count(*)::int as n from users')).rows[0].n

  test('a repeat has the same response as the first request, and a mark', async () => {
    const first = await create('k1')
    const before = await users()
    const again = await create('k1')
    expect([again.status, again.body]).toEqual([first.status, first.body])
    expect(again.headers.get('location')).toBe(first.headers.get('location'))
    expect([first.headers.get('idempotency-replayed'), again.headers.get('idempotency-replayed')]).toEqual([null, 'true'])
    expect(await users()).toBe(before)
  })

  test('key order does not matter, another value does', async () => {
    const link = (text: string) => api.call('POST', '/v4/identities', { raw: text, headers: { 'Idempotency-Key': 'k2' } })
    const first = await link('{"identity_id":"key-order","user_id":null}')
    expect((await link('{"user_id":null, "identity_id":"key-order"}')).body).toEqual(first.body)
    const other = await link('{"identity_id":"other"}')
    expect([other.status, other.body]).toEqual([409, error('logical', 'idempotency_conflict')])
  })

  test('refusals by the operation are stored, faults of the request are not', async () => {
    const link = (identity: unknown, user_id: string) =>
      api.call('POST', '/v4/identities', { body: { identity_id: identity, user_id }, headers: { 'Idempotency-Key': 'k3' } })
    expect((await link('!', 'QON_x')).status).toBe(400)
    expect((await link('kept', 'QON_x')).status).toBe(404)
    const again = await link('kept', 'QON_x')
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([404, 'true'])
    expect(again.body).toEqual(error('resource', 'not_found'))
  })

  test('the scope is environment and operation', async () => {
    const first = await create('k4')
    const sandbox = await create('k4', { environment: 'sandbox' }, api.project.sandbox)
    const identity = await api.call('POST', '/v4/identities', { body: { identity_id: 'k4' }, headers: { 'Idempotency-Key': 'k4' } })
    expect([first.status, sandbox.status, identity.status]).toEqual([201, 201, 201])
  })

  test('of 20 concurrent requests with one key one is executed; the others get its response or 409 with Retry-After', async () => {
    const before = await users()
    const answers = await Promise.all(Array.from({ length: 20 }, () => create('k5')))
    expect(await users()).toBe(before + 1)
    for (const answer of answers) {
      if (answer.status === 201) continue
      expect([answer.status, answer.body, answer.headers.get('retry-after')]).toEqual([
        409,
        error('logical', 'idempotency_in_progress'),
        '1',
      ])
    }
    expect(new Set(answers.filter(answer => answer.status === 201).map(answer => answer.body.id)).size).toBe(1)
  })

  test('after 24 hours the key is new', async () => {
    const first = await create('k6')
    await api.pool.query(`update idempotent_answers set created_at = created_at - interval '25 hours' where key = 'k6'`)
    const later = await create('k6')
    expect(later.status).toBe(201)
    expect(later.body.id).not.toBe(first.body.id)
  })

  test('a malformed key is 400 on the header; events ignore it', async () => {
    const answer = await create('x'.repeat(256))
    expect([answer.status, answer.body.error.details[0].field]).toEqual([400, 'Idempotency-Key'])
    const events = () => api.call('POST', '/v4/events', { body: { events: [item()] }, headers: { 'Idempotency-Key': 'k7' } })
    expect((await events()).body.created + (await events()).body.created).toBe(2)
  })
})

describe('rate limit', () => {
  test('each key has a bucket: headers until it is empty, then 429 with Retry-After; refused keys and unknown routes cost nothing', async () => {
    const limited = await startApi({ rateLimit: { perSecond: 0.5, burst: 3 } })
    try {
      for (let i = 0; i < 5; i++) expect((await limited.call('GET', '/v4/nothing')).headers.get('ratelimit-remaining')).toBe('3')
      const first = await limited.call('GET', '/v4/events')
      expect([first.headers.get('ratelimit-limit'), first.headers.get('ratelimit-remaining')]).toEqual(['3', '2'])
      expect(Number(first.headers.get('ratelimit-reset'))).toBeGreaterThanOrEqual(1)
      await limited.call('GET', '/v4/events')
      await limited.call('POST', '/v4/users', user)
      const refused = await limited.call('GET', '/v4/events')
      expect([refused.status, refused.body]).toEqual([429, error('request', 'rate_limit_exceeded')])
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      expect(refused.headers.get('ratelimit-remaining')).toBe('0')
      expect((await limited.call('GET', '/v4/events', { key: limited.project.sandbox })).status).toBe(200)
    } finally {
      await limited.stop()
    }
  })
})

describe('operational addresses', () => {
  test('healthz, readyz, metrics and the descriptions need no key', async () => {
    const get = (path: string) => api.call('GET', path, { key: null })
    expect((await get('/healthz')).body).toEqual({ status: 'ok' })
    expect((await get('/readyz')).body).toMatchObject({ status: 'ok', overdue: 0, orphans: 0, set_aside: 0 })
    expect((await get('/metrics')).text).toMatch(/perennial_http_requests_total\{operation="v4ListEvents",status="200"\} \d/)
    expect((await get('/v4/openapi.json')).body.info.version).toBe('4.0')
    expect((await get('/v3/openapi.json')).body.info.version).toBe('3.0')
    expect((await get('/v1/openapi.json')).body.info.title).toBe('Perennial for mobile SDKs')
  })
})

describe('a shutdown', () => {
  test('does not wait for a connection without a request, and finishes requests in flight', async () => {
    const short = await startApi()
    const silent = connect(Number(new URL(short.url).port), '127.0.0.1')
    await new Promise(resolve => silent.once('connect', resolve))
    const closed = new Promise(resolve => silent.once('close', resolve))
    const blocker = await short.pool.connect()
    await blocker.query('begin; lock table users')
    const answered = short.call('POST', '/v4/users', user)
    await until('the request waits', async () =>
      (
        await short.pool.query(
          'select 1 from pg_locks l join pg_stat_activity a using (pid) where not l.granted and a.datname = current_database()',
        )
      ).rowCount
        ? true
        : undefined,
    )
    const stopped = short.stop()
    await closed
    await blocker.query('commit')
    blocker.release()
    expect((await answered).status).toBe(201)
    await stopped
  })
})

describe('internal errors', () => {
  test('are 500 without statement, stack or address', async () => {
    const broken = await startApi()
    await broken.pool.query('alter table users rename to users_gone')
    const defect = await broken.call('POST', '/v4/users', user)
    expect([defect.status, defect.body]).toEqual([500, error('internal', 'unknown_error')])
    expect(defect.text).not.toMatch(/users|select|insert|127\.0/)
    await broken.pool.query('alter table users_gone rename to users')
    await broken.stop()
  })
})

test('a time that Postgres does not read is 400 wherever it is given', async () => {
  for (const time of ['2026-03-01T09:00:00+23:59', `2026-03-01T09:00:00.${'1'.repeat(150)}Z`]) {
    const calls = ['/v4/events?filter%5Bfrom%5D=', '/v4/events?filter%5Bto%5D=', '/v4/ledger?from='].map(path =>
      api.call('GET', path + encodeURIComponent(time)),
    )
    const window = { from_timestamp: time, to_timestamp: '2026-03-20T00:00:00Z' }
    calls.push(
      api.call('POST', '/v4/users', { body: { environment: 'prod', created_at: time } }),
      api.call('POST', '/v4/exports', { body: window }),
    )
    for (const { status, body } of await Promise.all(calls)) expect([status, body.error.code]).toEqual([400, 'invalid_data'])
  }
})

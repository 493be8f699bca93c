// What all operations of v3 share: keys, routes, bodies, errors, and headers for other origins.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { descriptions } from '../../schemas/generated/v3/operations.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { type V3Client, v3Client, v3Error } from '../harness/v3.ts'

let api: TestApi
let v3: V3Client
beforeAll(async () => {
  api = await startApi()
  v3 = v3Client(api)
})
afterAll(() => api.stop())

const ID = 'QON_00000000000000000000000000000001'
const ALLOWED_HEADERS =
  'Authorization, Content-Type, Accept, Platform, Platform-Version, User-Id, User-Locale, Source, Source-Version, App-Version, Country, Attempt, Trigger'

describe('keys', () => {
  const unauthorized = () => v3Error(api, 'request', 'control_unauthorized', 'Authorization error: project not found')

  test('none, unknown, of another scheme, of no form: 401, also where there is no route', async () => {
    for (const path of [`/v3/users/${ID}`, '/v3/nothing', '/v3'])
      for (const value of [undefined, 'Bearer', `Bearer ${'x'.repeat(32)}`, `Basic ${api.project.projectKey}`, 'Bearer hello there']) {
        const { status, headers, body } = await v3('GET', path, { key: null, ...(value && { headers: { Authorization: value } }) })
        expect([status, body]).toEqual([401, unauthorized()])
        expect(headers['www-authenticate']).toBe('Bearer')
      }
  })

  test('the API key of the project is none', async () => {
    const { rows } = await api.pool.query(`select sealed from keys where project = $1 and kind = 'api'`, [api.project.id])
    const key = api.secrets.open(rows[0].sealed, `key:${api.project.id}:api`)
    expect(await v3('GET', `/v3/users/${ID}`, { key })).toMatchObject({ status: 401, body: unauthorized() })
  })

  test('all four keys open what needs no Secret Key; the Project Key does not open the rest', async () => {
    const { projectKey, secret, sandbox } = api.project
    for (const key of [projectKey, `test_${projectKey}`, secret, sandbox]) {
      const answer = await v3('GET', `/v3/users/${ID}`, { key })
      expect([answer.status, answer.body]).toEqual([404, v3Error(api, 'resource', 'not_found', 'User not found')])
    }
    for (const key of [projectKey, `test_${projectKey}`])
      for (const { method, path } of descriptions.filter(({ auth }) => auth === 'secret')) {
        const answer = await v3(method, path.replaceAll(/\{\w+\}/g, 'x'), { key, raw: '{' })
        const body = v3Error(api, 'request', 'control_forbidden', 'Authorization error: secret key required')
        expect([answer.status, answer.body]).toEqual([403, body])
      }
  })
})

describe('routes', () => {
  test('an unknown path is 404, a known one with another method 405', async () => {
    for (const path of ['/v3/nothing', '/v3', '/v3/', `/v3/users/${ID}/`, `/v3/Users/${ID}`, '/v3/users']) {
      const answer = await v3('GET', path)
      expect([path, answer.status, answer.body]).toEqual([path, 404, v3Error(api, 'request', 'invalid_request', 'no such route')])
    }
    const answer = await v3('DELETE', `/v3/users/${ID}`)
    expect([answer.status, answer.body.error.code, answer.headers.allow]).toEqual([405, 'invalid_request', 'GET, HEAD, POST'])
    for (const path of ['/v0/users/x', '/attribution/x', '/v4/web/x'])
      expect(await api.call('GET', path)).toMatchObject({ status: 404, body: { error: { code: 'invalid_request' } } })
  })

  test('an empty segment is an empty value', async () => {
    for (const path of ['/v3/users/', '/v3/users//properties']) {
      const answer = await v3('GET', path)
      expect([answer.status, answer.body.error.message]).toEqual([404, 'User not found'])
    }
    expect(await v3('POST', '/v3/users/')).toMatchObject({ status: 400, body: { _meta: { fields: [{ name: 'id' }] } } })
  })

  test('an address that is too long has the shape of v3, too', async () => {
    const answer = await v3('GET', `/v3/users/${'x'.repeat(20_000)}`)
    const message = 'request line and headers are larger than 16384 bytes'
    // Deno has another parser: it reads a longer request line.
    if ('Deno' in globalThis) expect(answer.status).toBeGreaterThanOrEqual(400)
    else expect([answer.status, answer.body]).toEqual([413, v3Error(api, 'request', 'invalid_request', message)])
  })

  test('malformed percent-encoding is 400', async () => {
    const answer = await v3('GET', '/v3/users/%ff')
    expect([answer.status, answer.body.error]).toEqual([
      400,
      { type: 'request', code: 'invalid_data', message: 'Failed validate request data' },
    ])
  })

  test('HEAD is GET without body', async () => {
    const { status, text, headers } = await v3('HEAD', `/v3/users/${ID}`)
    expect([status, text]).toEqual([404, ''])
    expect(headers['content-type']).toBe('application/json; charset=utf-8')
  })
})

describe('bodies', () => {
  const path = '/v3/users/body-1/properties'
  const invalid = (status: number, answer: { status: number; body: { error: { type: string; code: string } } }) => {
    expect([answer.status, answer.body.error.type, answer.body.error.code]).toEqual([status, 'request', 'invalid_request'])
    expect(answer.body).not.toHaveProperty('_meta.fields')
  }

  test('JSON comes before shape, and shape before the user', async () => {
    invalid(400, await v3('POST', path, { raw: '[' }))
    const shape = await v3('POST', path, { body: [{ key: 1 }] })
    const fields = [
      { name: '[0].value', messages: ['is required'] },
      { name: '[0].key', messages: ['must be string'] },
    ]
    expect([shape.status, shape.body]).toEqual([400, v3Error(api, 'request', 'invalid_data', 'Failed validate request data', fields)])
    expect((await v3('POST', path, { body: [] })).status).toBe(404)
  })

  test('too long: 413; not JSON by its type: 415', async () => {
    invalid(413, await v3('POST', path, { raw: `[${' '.repeat(1024 * 1024)}]` }))
    invalid(415, await v3('POST', path, { raw: '[]', headers: { 'Content-Type': 'text/plain' } }))
    expect((await v3('POST', path, { raw: '[]', headers: { 'Content-Type': 'application/json; charset=UTF-8' } })).status).toBe(404)
  })

  test('unknown fields and parameters are ignored, and null is absent', async () => {
    const raw = '{"environment":null,"more":{"a":null},"x":1}'
    expect((await v3('POST', '/v3/users/body-2?a=1&a=2&%ff=%ff&=', { raw })).status).toBe(201)
    expect((await v3('POST', '/v3/users/body-3', { raw: 'null' })).status).toBe(201)
    expect((await v3('POST', '/v3/users/body-4', { headers: { 'Content-Type': 'application/json' } })).status).toBe(201)
  })
})

describe('other origins', () => {
  test('OPTIONS is answered everywhere, without a key', async () => {
    for (const path of ['/v3', '/v3/nothing', `/v3/users/${ID}`, '/v3/openapi.json', '/v3/users/%ff']) {
      const { status, headers, text } = await v3('OPTIONS', path, { key: null })
      expect([path, status, text]).toEqual([path, 204, ''])
      expect(headers).toMatchObject({
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'GET, POST, DELETE, OPTIONS',
        'access-control-allow-headers': ALLOWED_HEADERS,
        'access-control-max-age': '86400',
      })
      expect(headers).not.toHaveProperty('content-type')
      expect(headers).not.toHaveProperty('access-control-allow-credentials')
    }
  })

  test('every answer may be read; v4 has no such headers', async () => {
    for (const answer of [
      await v3('GET', '/v3/nothing'),
      await v3('GET', '/v3/nothing', { key: null }),
      await v3('GET', '/v3/openapi.json'),
    ])
      expect(answer.headers).toMatchObject({
        'access-control-allow-origin': '*',
        'access-control-expose-headers': 'Retry-After, X-Clock, X-Request-Id',
        'x-request-id': expect.any(String),
      })
    expect((await api.call('GET', '/v4/events')).headers.has('access-control-allow-origin')).toBe(false)
  })
})

describe('the description', () => {
  test('is served without a key', async () => {
    const { status, body } = await v3('GET', '/v3/openapi.json', { key: null })
    expect([status, body.openapi, body.info.version]).toEqual([200, '3.0.3', '3.0'])
    expect(Object.keys(body.components.securitySchemes)).toEqual(['projectAuth', 'secretAuth'])
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type V3Client, v3Client, v3Error } from '../harness/v3.ts'

let api: TestApi
let v3: V3Client
let sandbox: string
beforeAll(async () => {
  api = await startApi()
  v3 = v3Client(api)
  sandbox = `test_${api.project.projectKey}`
})
afterAll(() => api.stop())

const exists = () => v3Error(api, 'resource', 'already_exists', 'User with given uid already exists')

describe('v3CreateUser', () => {
  test('creates the user in the environment of the body, else of the key', async () => {
    for (const [id, key, environment, expected] of [
      ['QON_a', api.project.projectKey, undefined, 'prod'],
      ['QON_b', sandbox, undefined, 'sandbox'],
      ['QON_c', sandbox, 'prod', 'prod'],
      ['QON_d', api.project.projectKey, 'sandbox', 'sandbox'],
    ] as const) {
      const { status, text, body } = await v3('POST', `/v3/users/${id}`, { key, ...(environment && { body: { environment } }) })
      expect([status, text]).toEqual([201, JSON.stringify({ id, created: body.created, environment: expected })])
      expect(Math.abs(body.created - Date.now() / 1000)).toBeLessThan(60)
      const shown = await api.call('GET', `/v4/users/${id}`, { key: expected === 'prod' ? api.project.secret : api.project.sandbox })
      expect(shown.body).toMatchObject({ id, identity_id: null, environment: expected })
    }
  })

  test('a wrong id or environment is 400', async () => {
    for (const [path, body, name] of [
      ['/v3/users/a%20b', {}, 'id'],
      ['/v3/users/a@b', {}, 'id'],
      [`/v3/users/${'x'.repeat(257)}`, {}, 'id'],
      ['/v3/users/%2E%2E', {}, 'id'],
      ['/v3/users/x', { environment: 'production' }, 'environment'],
      ['/v3/users/x', [], 'body'],
    ] as const) {
      const answer = await v3('POST', path, { body })
      const fields = [{ name, messages: [expect.any(String)] }]
      expect([answer.status, answer.body]).toEqual([400, v3Error(api, 'request', 'invalid_data', 'Failed validate request data', fields)])
    }
    expect((await v3('POST', `/v3/users/${'x'.repeat(256)}`)).status).toBe(201)
  })

  test('an id that the project has is 422, in either environment; another project may have it', async () => {
    await v3('POST', '/v3/users/twice')
    for (const key of [api.project.projectKey, sandbox, api.project.secret]) {
      const answer = await v3('POST', '/v3/users/twice', { key })
      expect([answer.status, answer.body]).toEqual([422, exists()])
    }
    const other = await api.newProject()
    expect((await v3('POST', '/v3/users/twice', { key: other.projectKey })).status).toBe(201)
  })

  test('of racing creations in both environments one wins', async () => {
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) => v3('POST', `/v3/users/race-${round}`, { key: i % 2 ? sandbox : api.project.projectKey })),
      )
      expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(422)])
    }
    const { rows } = await api.pool.query(`select count(*)::int as users from users where id like 'race-%'`)
    expect(rows).toEqual([{ users: 10 }])
  })
})

describe('v3GetUser', () => {
  test('finds the user with either prefix, and shows the identity', async () => {
    await v3('POST', '/v3/users/shown', { key: sandbox })
    await v3('POST', '/v3/identities/shown@example.com', { body: { user_id: 'shown' } })
    for (const key of [api.project.projectKey, sandbox, api.project.secret, api.project.sandbox]) {
      const { status, body } = await v3('GET', '/v3/users/shown', { key })
      expect([status, body]).toEqual([
        200,
        { id: 'shown', identity_id: 'shown@example.com', created: expect.any(Number), environment: 'sandbox' },
      ])
    }
  })

  test('a user of another project, or no user: 404', async () => {
    const other = await api.newProject()
    await v3('POST', '/v3/users/elsewhere', { key: other.projectKey })
    for (const path of ['/v3/users/elsewhere', '/v3/users/nobody', '/v3/users/a%20b', `/v3/users/${'x'.repeat(5000)}`]) {
      const answer = await v3('GET', path)
      expect([answer.status, answer.body]).toEqual([404, v3Error(api, 'resource', 'not_found', 'User not found')])
    }
  })
})

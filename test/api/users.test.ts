import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const newUser = async (): Promise<string> => (await api.call('POST', '/v4/users', { body: { environment: 'prod' } })).body.id

describe('users', () => {
  test('a created user has a server-issued id and can be read', async () => {
    const made = await api.call('POST', '/v4/users', { body: { environment: 'prod' } })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({ object: 'user', environment: 'prod', identity_id: null, url: `/v4/users/${made.body.id}` })
    expect(made.body.id).toMatch(/^QON_[0-9a-f]{32}$/)
    expect(made.headers.get('location')).toBe(made.body.url)
    expect((await api.call('GET', made.body.url)).body).toEqual(made.body)
  })

  test('the environment in the body must be that of the key', async () => {
    const wrong = await api.call('POST', '/v4/users', { body: { environment: 'sandbox' } })
    expect(wrong.status).toBe(400)
    expect(wrong.body.error).toMatchObject({ code: 'invalid_data', details: [{ field: 'environment' }] })
    const right = await api.call('POST', '/v4/users', { key: api.project.sandbox, body: { environment: 'sandbox' } })
    expect(right.body.environment).toBe('sandbox')
  })

  test('a user of the other environment or another project is not found', async () => {
    const id = await newUser()
    const other = await api.newProject()
    for (const key of [api.project.sandbox, other.secret, other.sandbox]) {
      const answer = await api.call('GET', `/v4/users/${id}`, { key })
      expect(answer.status).toBe(404)
      expect(answer.body).toEqual({ error: { type: 'resource', code: 'not_found', message: expect.any(String) } })
    }
  })

  test('a malformed user id is refused with its name', async () => {
    const answer = await api.call('GET', '/v4/users/a%20b')
    expect(answer.status).toBe(400)
    expect(answer.body.error.details).toEqual([{ field: 'user_id', message: expect.any(String) }])
  })
})

describe('user properties', () => {
  test('valid rows are saved, invalid ones are named, in the order of the request', async () => {
    const user = await newUser()
    const set = await api.call('POST', `/v4/users/${user}/properties`, {
      body: {
        properties: [
          { key: '_q_email', value: 'a@b.c' },
          { key: '_mine', value: 'x' },
          { key: '123', value: 'x' },
          { key: 'color', value: 'red' },
          { key: 'quote', value: 'a"b' },
          { key: 'color', value: 'blue' },
          { key: 'long', value: 'é'.repeat(61) },
        ],
      },
    })
    expect(set.status).toBe(200)
    expect(set.body.saved_properties).toEqual([
      { object: 'user_property', key: '_q_email', value: 'a@b.c' },
      { object: 'user_property', key: 'color', value: 'blue' },
    ])
    expect(set.body.property_errors).toEqual([
      { key: '_mine', error: 'property key: _mine. Error: reserved key' },
      { key: '123', error: 'property key: 123. Error: invalid key format' },
      { key: 'quote', error: 'property key: quote. Error: invalid value format' },
      { key: 'long', error: 'property key: long. Error: invalid value format' },
    ])
    const list = await api.call('GET', `/v4/users/${user}/properties`)
    expect(list.body.data.map((p: { key: string }) => p.key)).toEqual(['_q_email', 'color'])
  })

  test('without a valid row: 400 on properties, nothing written', async () => {
    const user = await newUser()
    const set = await api.call('POST', `/v4/users/${user}/properties`, { body: { properties: [{ key: '!', value: '' }] } })
    expect(set.status).toBe(400)
    expect(set.body.error.details).toHaveLength(1)
    expect(set.body.error.details[0].field).toBe('properties')
    expect((await api.call('GET', `/v4/users/${user}/properties`)).body.data).toEqual([])
  })

  test('the 100th key is accepted, the next is not, and an existing one can still change', async () => {
    const user = await newUser()
    const properties = Array.from({ length: 100 }, (_, i) => ({ key: `k${i}`, value: String(i) }))
    expect((await api.call('POST', `/v4/users/${user}/properties`, { body: { properties } })).body.saved_properties).toHaveLength(100)
    const more = await api.call('POST', `/v4/users/${user}/properties`, {
      body: {
        properties: [
          { key: 'k100', value: 'x' },
          { key: 'k5', value: 'changed' },
        ],
      },
    })
    expect(more.body.saved_properties).toEqual([{ object: 'user_property', key: 'k5', value: 'changed' }])
    expect(more.body.property_errors).toEqual([{ key: 'k100', error: 'property key: k100. Error: too many properties' }])
  })

  test('two writers of different keys both succeed', async () => {
    const user = await newUser()
    const write = (key: string) => api.call('POST', `/v4/users/${user}/properties`, { body: { properties: [{ key, value: key }] } })
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map(write))
    expect((await api.call('GET', `/v4/users/${user}/properties`)).body.data).toHaveLength(5)
  })

  test('an unknown user is 404', async () => {
    expect((await api.call('GET', '/v4/users/QON_nobody/properties')).status).toBe(404)
    expect((await api.call('POST', '/v4/users/QON_nobody/properties', { body: { properties: [{ key: 'a', value: '' }] } })).status).toBe(
      404,
    )
  })
})

describe('identities', () => {
  test('an identity without user creates one', async () => {
    const made = await api.call('POST', '/v4/identities', { body: { identity_id: 'anna' } })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe('/v4/identities/anna')
    expect((await api.call('GET', '/v4/identities/anna')).body).toEqual(made.body)
    expect((await api.call('GET', `/v4/users/${made.body.user_id}`)).body.identity_id).toBe('anna')
  })

  test('errors have the documented precedence', async () => {
    const [first, second] = [await newUser(), await newUser()]
    const link = (identity_id: string, user_id?: string | null) => api.call('POST', '/v4/identities', { body: { identity_id, user_id } })
    expect((await link('ben', first)).status).toBe(201)
    expect((await link('ben', 'QON_nobody')).body.error.code).toBe('already_exists')
    expect((await link('carl', 'QON_nobody')).status).toBe(404)
    expect((await link('carl', first)).body.error).toMatchObject({ type: 'resource', code: 'already_exists' })
    expect((await link('carl', second)).status).toBe(201)
  })

  test('of 50 concurrent creations of one identity one is 201, the others 409', async () => {
    const users = await Promise.all(Array.from({ length: 25 }, newUser))
    const answers = await Promise.all(
      [...users, ...Array.from({ length: 25 }, () => null)].map(user_id =>
        api.call('POST', '/v4/identities', { body: { identity_id: 'dora', user_id } }),
      ),
    )
    expect(answers.map(answer => answer.status).sort()).toEqual([201, ...Array.from({ length: 49 }, () => 409)])
  })

  test('the same identity in the sandbox is another one', async () => {
    await api.call('POST', '/v4/identities', { body: { identity_id: 'emma' } })
    expect((await api.call('GET', '/v4/identities/emma', { key: api.project.sandbox })).status).toBe(404)
    expect((await api.call('POST', '/v4/identities', { key: api.project.sandbox, body: { identity_id: 'emma' } })).status).toBe(201)
  })
})

// What users are served, and their pins.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { growth } from '../harness/experiments.ts'
import { unique } from '../harness/resource-makers.ts'
import { type V3Client, v3Client, v3Error, v3User } from '../harness/v3.ts'

let api: TestApi
let v3: V3Client
let make: ReturnType<typeof growth>
beforeAll(async () => {
  api = await startApi()
  v3 = v3Client(api)
  make = growth(api)
})
afterAll(() => api.stop())

const newUser = (environment: 'prod' | 'sandbox' = 'prod') => v3User(v3, environment)
const newKey = () => unique('key')
const one = async (user: string, key?: string) => {
  const query = key === undefined ? '' : `&context_key=${key}`
  const { status, body } = await v3('GET', `/v3/remote-config?user_id=${user}${query}`)
  expect(status).toBe(200)
  return body
}
const list = async (user: string, query: string) => {
  const { status, body } = await v3('GET', `/v3/remote-configs?user_id=${user}&${query}`)
  expect(status).toBe(200)
  return body
}
const assignments = async (user: string) =>
  (await api.pool.query('select experiment_id, group_id, pinned from experiment_assignments where user_id = $1', [user])).rows
const notFound = (message: string) => [404, v3Error(api, 'resource', 'not_found', message)]
const final = () => expect.objectContaining({ error: { type: 'logical', code: 'relation_not_found', message: expect.any(String) } })

describe('what a user is served', () => {
  test('nothing applies: an empty payload alone', async () => {
    expect(await one(await newUser(), newKey())).toEqual({ payload: {} })
  })

  test('a configuration, with the nulls of its payload', async () => {
    const [user, key] = [await newUser(), newKey()]
    const payload = { title: null, deep: [{ a: null }], on: true }
    const uid = await make.configuration(payload, { context_key: key, name: 'Mine' })
    const source = { uid, name: 'Mine', assignment_type: 'auto', type: 'remote_configuration', context_key: key }
    expect(await one(user, key)).toEqual({ payload, source })
  })

  test('the configuration without a key, whether the key is absent or empty', async () => {
    const { secret, projectKey } = await api.newProject()
    const own = growth(api, secret)
    const uid = await own.configuration({ n: 1 }, { name: 'Plain' })
    await v3('POST', '/v3/users/u', { key: projectKey, body: {} })
    const source = { uid, name: 'Plain', assignment_type: 'auto', type: 'remote_configuration', context_key: '' }
    for (const query of ['', '&context_key=']) {
      const { body } = await v3('GET', `/v3/remote-config?user_id=u${query}`, { key: projectKey })
      expect(body).toEqual({ payload: { n: 1 }, source })
    }
  })

  test('an experiment assigns the user, once, and names the group', async () => {
    const [user, key] = [await newUser(), newKey()]
    const config = await make.configuration({ n: 1 }, { context_key: key }, 'draft')
    const { id, groups } = await make.running({ context_key: key, name: 'Test' }, [
      { remote_config_uid: config },
      { remote_config_uid: config, name: 'New' },
    ])
    const answers = await Promise.all(Array.from({ length: 10 }, () => one(user, key)))
    expect(new Set(answers.map(answer => JSON.stringify(answer))).size).toBe(1)
    const [assigned] = await assignments(user)
    const isControl = assigned!.group_id === groups[0]
    expect(answers[0]).toEqual({
      payload: { n: 1 },
      source: {
        uid: config,
        name: expect.any(String),
        assignment_type: 'auto',
        type: `experiment_${isControl ? 'control' : 'treatment'}_group`,
        context_key: key,
      },
      experiment: {
        uid: id,
        name: 'Test',
        group: { uid: assigned!.group_id, name: expect.any(String), type: isControl ? 'control' : 'treatment' },
      },
    })
  })

  test('the group of an experiment without a payload is the source, in one answer and in a list: the SDKs drop an answer without', async () => {
    const [user, pinned, key] = [await newUser(), await newUser(), newKey()]
    const { id, groups } = await make.running({ context_key: key, name: 'Test' }, [{}, { name: 'New' }])
    const { body } = await v3('POST', `/v3/experiments/${id}/users/${pinned}`, { body: { group_id: groups[1] } })
    expect(body).toEqual({})
    for (const [who, assignment_type] of [
      [user, 'auto'],
      [pinned, 'manual'],
    ] as const) {
      const answer = await one(who, key)
      const { uid, name, type } = answer.experiment.group
      const source = { uid, name, assignment_type, type: `experiment_${type}_group`, context_key: key }
      expect(answer).toMatchObject({ payload: {}, source, experiment: { uid: id } })
      expect(await list(who, `context_key=${key}`)).toEqual([answer])
    }
  })

  test('what the headers of a request say counts in the same request', async () => {
    const [user, key] = [await newUser(), newKey()]
    await make.configuration(
      { n: 1 },
      { context_key: key, segmentation_conditions: [{ metric: 'country', comparator: 'eq', value: 'FR' }] },
    )
    expect(await one(user, key)).toEqual({ payload: {} })
    const { body } = await v3('GET', `/v3/remote-config?user_id=${user}&context_key=${key}`, { headers: { Country: 'fr' } })
    expect(body.payload).toEqual({ n: 1 })
  })

  test('in the environment of the user, whatever the key', async () => {
    const [user, key] = [await newUser('sandbox'), newKey()]
    await make.configuration({ n: 'production' }, { context_key: key })
    await growth(api, api.project.sandbox).configuration({ n: 'sandbox' }, { context_key: key })
    expect((await one(user, key)).payload).toEqual({ n: 'sandbox' })
  })
})

describe('the list', () => {
  test('the empty key first, then the keys as they were asked for; what nothing applies to is left out', async () => {
    const { secret, projectKey } = await api.newProject()
    const own = growth(api, secret)
    for (const key of [undefined, 'b', 'B', 'a']) await own.configuration({ key: key ?? '' }, key === undefined ? {} : { context_key: key })
    await own.running({ context_key: 'empty' }, [{}, {}])
    await v3('POST', '/v3/users/u', { key: projectKey, body: {} })
    const requested = async (query: string) => {
      const { status, body } = await v3('GET', `/v3/remote-configs?user_id=u&${query}`, { key: projectKey })
      expect(status).toBe(200)
      return body.map(({ source, payload }: { source: { context_key: string }; payload: { key: string } }) => {
        // The experiment has no payload.
        expect(payload).toEqual(source.context_key === 'empty' ? {} : { key: source.context_key })
        return source.context_key
      })
    }
    expect(await requested('all_context_keys=true')).toEqual(['', 'B', 'a', 'b', 'empty'])
    expect(await requested('context_key=b&context_key=none&context_key=B&context_key=b&context_key=empty')).toEqual(['b', 'B', 'empty'])
    expect(await requested('context_key=b&with_empty_context_key=true&context_key=a')).toEqual(['', 'b', 'a'])
    expect(await requested('context_key=b&context_key=')).toEqual(['', 'b'])
    expect(await requested('with_empty_context_key=true')).toEqual([''])
    expect(await requested('all_context_keys=true&context_key=a')).toEqual(['', 'B', 'a', 'b', 'empty'])
    expect(await requested('context_key=none')).toEqual([])
  })

  test.each([
    '',
    'all_context_keys=false',
    'with_empty_context_key=false',
    'all_context_keys=maybe',
    `${'context_key=a&'.repeat(51)}`,
  ])('400 for "%s"', async query => {
    const { status, body } = await v3('GET', `/v3/remote-configs?user_id=${await newUser()}&${query}`)
    expect([status, body.error.code]).toEqual([400, 'invalid_data'])
    expect(body._meta.fields[0].name).toMatch(/context_key/)
  })

  test('fifty keys', async () => {
    const query = Array.from({ length: 50 }, (_, i) => `context_key=k${i}`).join('&')
    expect(await list(await newUser(), query)).toEqual([])
  })
})

test.each(['/v3/remote-config?', '/v3/remote-configs?all_context_keys=true&'])('%s needs a user who exists', async path => {
  const without = await v3('GET', path)
  expect([without.status, without.body._meta.fields]).toEqual([400, [{ name: 'user_id', messages: ['is required'] }]])
  const { status, body } = await v3('GET', `${path}user_id=nobody`)
  expect([status, body]).toEqual(notFound('User not found'))
})

describe('pins to configurations', () => {
  const pin = (method: string, id: string, user: string) =>
    v3(method, `/v3/remote-configurations/${id}/users/${user}`, { raw: '{"ignored' })

  test('a pinned user is served it, until the pin is taken away; both may be repeated', async () => {
    const [user, key] = [await newUser(), newKey()]
    await make.configuration({ n: 1 }, { context_key: key })
    const pinned = await make.configuration({ n: 2 }, { context_key: key, segment_percent: 0 })
    for (let i = 0; i < 2; i++) {
      const { status, text } = await pin('POST', pinned, user)
      expect([status, text]).toEqual([200, '{}'])
    }
    expect(await one(user, key)).toMatchObject({
      payload: { n: 2 },
      source: { uid: pinned, assignment_type: 'manual', type: 'remote_configuration' },
    })
    for (let i = 0; i < 2; i++) {
      const { status, text } = await pin('DELETE', pinned, user)
      expect([status, text]).toEqual([200, '{}'])
    }
    expect((await one(user, key)).payload).toEqual({ n: 1 })
    const { rows } = await api.pool.query('select operation, actor_kind from audit_log where user_id = $1 order by created_at, id', [user])
    expect(rows.map(({ operation }) => operation)).toEqual(['v3AttachUserToRemoteConfiguration', 'v3DetachUserFromRemoteConfiguration'])
    expect(rows[0]!.actor_kind).toBe('project_key')
  })

  test('refusals: the user first, then the configuration, then its status', async () => {
    const user = await newUser()
    const archived = await make.configuration({ n: 1 }, { context_key: newKey() }, 'archived')
    for (const method of ['POST', 'DELETE']) {
      const unknown = await pin(method, 'none', 'nobody')
      expect([unknown.status, unknown.body]).toEqual(notFound('User not found'))
      const missing = await pin(method, 'none', user)
      expect([missing.status, missing.body]).toEqual(notFound('Not found'))
    }
    const refused = await pin('POST', archived, user)
    expect([refused.status, refused.body]).toEqual([422, final()])
    expect((await pin('DELETE', archived, user)).text).toBe('{}')
  })
})

describe('pins to groups', () => {
  const path = (id: string, user: string) => `/v3/experiments/${id}/users/${user}`
  const attach = (id: string, user: string, body: unknown) => v3('POST', path(id, user), { body })

  test('the user is in the group, until detached; both may be repeated', async () => {
    const [user, key] = [await newUser(), newKey()]
    const { id, groups } = await make.running({ context_key: key }, [{}, {}])
    for (const group_id of [groups[0], groups[1], groups[1]]) {
      const { status, text } = await attach(id, user, { group_id, more: 1 })
      expect([status, text]).toEqual([200, '{}'])
      expect(await assignments(user)).toEqual([{ experiment_id: id, group_id, pinned: true }])
    }
    for (let i = 0; i < 2; i++) expect((await v3('DELETE', path(id, user))).text).toBe('{}')
    expect(await assignments(user)).toEqual([])
  })

  test('refusals', async () => {
    const user = await newUser()
    const { id, groups } = await make.running({ context_key: newKey() }, [{}, {}])
    const nobody = await attach(id, 'nobody', { group_id: groups[0] })
    expect([nobody.status, nobody.body]).toEqual(notFound('User not found'))
    for (const [experiment, group_id] of [
      ['none', groups[0]],
      [id, 'none'],
    ] as const) {
      const { status, body } = await attach(experiment, user, { group_id })
      expect([status, body]).toEqual(notFound('Not found'))
    }
    expect((await v3('DELETE', path('none', user))).status).toBe(404)
    for (const body of [{}, { group_id: null }, { group_id: 7 }]) {
      const { status, body: attached } = await attach(id, user, body)
      expect([status, attached._meta.fields[0].name]).toEqual([400, 'group_id'])
    }
    expect((await api.call('POST', `/v4/experiments/${id}/status`, { body: { status: 'finished' } })).status).toBe(200)
    for (const answer of [await attach(id, user, { group_id: groups[0] }), await v3('DELETE', path(id, user))])
      expect([answer.status, answer.body]).toEqual([422, final()])
  })
})

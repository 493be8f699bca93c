import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { share } from '../harness/effort.ts'
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

const logical = (code: string, message: string) => v3Error(api, 'logical', code, message)
const exists = (message: string) => v3Error(api, 'resource', 'already_exists', message)
const TAKEN = "identity already exists: it's linked to another user"
const link = (identity: string, user?: string, key = api.project.projectKey) =>
  v3('POST', `/v3/identities/${identity}`, { key, ...(user !== undefined && { body: { user_id: user } }) })
const user = async (id: string, key = api.project.projectKey) => expect((await v3('POST', `/v3/users/${id}`, { key })).status).toBe(201)

describe('v3CreateIdentity', () => {
  test('links a user: each line of the table, in its order', async () => {
    for (const id of ['line-1', 'line-2']) await user(id)
    const made = await link('who', 'line-1')
    expect([made.status, made.text]).toEqual([201, '{"id":"who","user_id":"line-1"}'])
    for (const [identity, id, status, body] of [
      ['who', 'nobody', 400, logical('relation_not_found', 'user not found')],
      ['who', '', 400, logical('relation_not_found', 'user not found')],
      ['who', 'line-1', 422, exists('user already has identity')],
      ['who', 'line-2', 422, exists(TAKEN)],
      ['who', undefined, 422, exists(TAKEN)],
      ['else', 'line-1', 422, exists('user already converted')],
    ] as const) {
      const answer = await link(identity, id)
      expect([identity, id, answer.status, answer.body]).toEqual([identity, id, status, body])
    }
    await link('whom', 'line-2')
    expect((await link('who', 'line-2')).body).toEqual(exists(TAKEN))
  })

  test('without a user it makes one in the environment of the key', async () => {
    for (const [key, raw] of [
      [api.project.projectKey, undefined],
      [sandbox, '{}'],
      [api.project.sandbox, '{"user_id":null}'],
    ] as const) {
      const identity = `new-${raw?.length}`
      const made = await v3('POST', `/v3/identities/${identity}`, { key, ...(raw && { raw }) })
      expect([made.status, made.body]).toEqual([201, { id: identity, user_id: expect.stringMatching(/^QON_[0-9a-f]{32}$/) }])
      const shown = await v3('GET', `/v3/users/${made.body.user_id}`)
      expect(shown.body).toMatchObject({ identity_id: identity, environment: key.startsWith('test_') ? 'sandbox' : 'prod' })
    }
  })

  test('an identity exists in the environment of the user', async () => {
    for (const [id, key] of [
      ['both-1', api.project.projectKey],
      ['both-2', sandbox],
    ] as const)
      await user(id, key)
    expect((await link('both', 'both-1', sandbox)).status).toBe(201)
    expect((await link('both', 'both-2', api.project.projectKey)).status).toBe(201)
    const fetchOne = async (key: string) => (await v3('GET', '/v3/identities/both', { key })).body.user_id
    expect([await fetchOne(api.project.projectKey), await fetchOne(sandbox)]).toEqual(['both-1', 'both-2'])
  })

  test('an e-mail address, a space and a slash are ids, however they are encoded', async () => {
    for (const [path, id] of [
      ['a@example.com', 'a@example.com'],
      ['b%40example.com', 'b@example.com'],
      ['urn:x:1', 'urn:x:1'],
      ['Ann%20Lee', 'Ann Lee'],
      ['a%2Fb', 'a/b'],
      ['100%25', '100%'],
      ['a%2541', 'a%41'],
      ['1+1', '1+1'],
      [encodeURIComponent('한국'), '한국'],
      [encodeURIComponent('😀'.repeat(255)), '😀'.repeat(255)],
    ] as const) {
      const made = await link(path)
      expect([made.status, made.body.id]).toEqual([201, id])
      const shown = await v3('GET', `/v3/identities/${path}`)
      expect([shown.status, shown.body]).toEqual([200, made.body])
    }
    for (const path of ['', 'a%00', 'a%0Ab', '%7F', 'x'.repeat(256)])
      expect(await link(path)).toMatchObject({ status: 400, body: { _meta: { fields: [{ name: 'identity_id' }] } } })
    expect(await v3('POST', '/v3/identities/x', { body: { user_id: 1 } })).toMatchObject({
      status: 400,
      body: { _meta: { fields: [{ name: 'user_id', messages: ['must be string'] }] } },
    })
  })

  test('leaves an audit entry with the key, in the environment of the user', async () => {
    await user('told', sandbox)
    await link('told-1', 'told')
    const { body } = await api.call('GET', '/v4/audit-log?filter%5Bresource_id%5D=told-1', { key: api.project.sandbox })
    expect(body.data).toMatchObject([
      {
        operation: 'v3CreateIdentity',
        actor: { kind: 'project_key', id: api.project.projectKey.slice(-4) },
        after: { id: 'told-1', user_id: 'told' },
      },
    ])
  })
})

describe('races', () => {
  const tally = (answers: { status: number; body: { error?: { message: string } } }[]) =>
    Object.fromEntries(
      [...Map.groupBy(answers, ({ status, body }) => `${status} ${body.error?.message ?? ''}`)].map(([k, v]) => [k, v.length]),
    )

  test('thousands of identifies of one identity make one user', async () => {
    const answers: Awaited<ReturnType<typeof link>>[] = []
    const batches = share(30)
    for (let batch = 0; batch < batches; batch++) answers.push(...(await Promise.all(Array.from({ length: 100 }, () => link('crowd')))))
    expect(tally(answers)).toEqual({ '201 ': 1, [`422 ${TAKEN}`]: 100 * batches - 1 })
    const { rows } = await api.pool.query(`select count(*)::int as users from users where identity_id = 'crowd'`)
    expect(rows).toEqual([{ users: 1 }])
  })

  test('two devices of one person: one is linked', async () => {
    for (let round = 0; round < 20; round++) {
      const devices = [`device-${round}-a`, `device-${round}-b`]
      for (const id of devices) await user(id)
      const answers = await Promise.all(devices.map(id => link(`person-${round}`, id)))
      expect(tally(answers)).toEqual({ '201 ': 1, [`422 ${TAKEN}`]: 1 })
    }
  })

  test('one device that repeats, and one that has two identities', async () => {
    for (let round = 0; round < 10; round++) {
      await user(`again-${round}`)
      const same = await Promise.all(Array.from({ length: 5 }, () => link(`once-${round}`, `again-${round}`)))
      expect(tally(same)).toEqual({ '201 ': 1, '422 user already has identity': 4 })
      await user(`two-${round}`)
      const two = await Promise.all(['x', 'y'].map(name => link(`${name}-${round}`, `two-${round}`)))
      expect(tally(two)).toEqual({ '201 ': 1, '422 user already converted': 1 })
    }
  })

  test('a new user and an existing one for the same identity', async () => {
    for (let round = 0; round < 10; round++) {
      await user(`known-${round}`)
      const answers = await Promise.all([link(`mixed-${round}`), link(`mixed-${round}`, `known-${round}`)])
      expect(tally(answers)).toEqual({ '201 ': 1, [`422 ${TAKEN}`]: 1 })
    }
  })
})

test('v3GetIdentity looks in both environments', async () => {
  await user('in-sandbox', sandbox)
  await link('only-there', 'in-sandbox')
  for (const key of [api.project.projectKey, sandbox])
    expect(await v3('GET', '/v3/identities/only-there', { key })).toMatchObject({
      status: 200,
      body: { id: 'only-there', user_id: 'in-sandbox' },
    })
  const other = await api.newProject()
  for (const [path, key] of [
    ['/v3/identities/nobody', sandbox],
    ['/v3/identities/only-there', other.projectKey],
  ] as const) {
    const answer = await v3('GET', path, { key })
    expect([answer.status, answer.body]).toEqual([404, v3Error(api, 'resource', 'not_found', 'Identity not found')])
  }
})

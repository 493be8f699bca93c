import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Fields, growth } from '../harness/experiments.ts'

let api: TestApi
let make: ReturnType<typeof growth>
beforeAll(async () => {
  api = await startApi()
  make = growth(api)
})
afterAll(() => api.stop())

let keys = 0
const newKey = () => `key-${++keys}`
const one = async (user: string, key: string | null, more: Fields = {}) => (await make.evaluate(user, { context_keys: [key], ...more }))[0]
const assignments = async (user: string) =>
  (
    await api.pool.query('select experiment_id, group_id, pinned from experiment_assignments where user_id = $1 order by assigned_at', [
      user,
    ])
  ).rows

describe('targeting', () => {
  test('without a match the payload is empty and has no source', async () => {
    expect(await one(await make.user(), 'nothing')).toEqual({
      object: 'user_remote_configuration',
      context_key: 'nothing',
      payload: {},
      source: null,
      experiment: null,
    })
  })

  test('the configuration activated last wins, of those whose conditions and percentage include the user', async () => {
    const key = newKey()
    const user = await make.user()
    const first = await make.configuration({ n: 1 }, { context_key: key, name: 'Everybody' })
    await make.configuration({ n: 2 }, { context_key: key, segment_percent: 0 })
    await make.configuration(
      { n: 3 },
      { context_key: key, segmentation_conditions: [{ metric: 'country', comparator: 'eq', value: 'DE' }] },
    )
    await make.configuration({ n: 4 }, { context_key: key }, 'draft')
    await make.configuration({ n: 5 }, { context_key: key }, 'archived')
    const plain = await one(user, key)
    expect(plain).toMatchObject({
      payload: { n: 1 },
      source: { uid: first, name: 'Everybody', assignment_type: 'auto', type: 'remote_configuration' },
      experiment: null,
    })
    expect((await one(user, key, { attributes: { country: 'de' } })).payload).toEqual({ n: 3 })
    expect(await one(user, key)).toEqual(plain)
    await make.configuration({ n: 6 }, { context_key: key })
    expect((await one(user, key)).payload).toEqual({ n: 6 })
  })

  test('null and the empty string are one key; the items have the order of the request', async () => {
    const project = await api.newProject()
    const own = growth(api, project.secret)
    await own.configuration({ n: 0 })
    await own.configuration({ n: 1 }, { context_key: 'b' })
    await own.configuration({ n: 2 }, { context_key: 'B' })
    const user = await own.user()
    const requested = async (keys: (string | null)[]) =>
      (await own.evaluate(user, { context_keys: keys })).map((i: Fields) => [i.context_key, i.payload])
    expect(await requested(['b', null, 'zzz'])).toEqual([
      ['b', { n: 1 }],
      [null, { n: 0 }],
      ['zzz', {}],
    ])
    expect(await requested(['', 'b'])).toEqual([
      ['', { n: 0 }],
      ['b', { n: 1 }],
    ])
    await own.running({ context_key: 'only-experiment' }, [{}, {}], 'active')
    await own.running({ context_key: 'draft-experiment' }, [{}, {}], 'draft')
    const all = await own.call('POST', `/v4/users/${user}/remote-configurations`)
    expect(all.body).toMatchObject({ object: 'list', url: `/v4/users/${user}/remote-configurations`, has_more: false })
    expect(all.body.data.map((i: Fields) => i.context_key)).toEqual([null, 'B', 'b', 'only-experiment'])
  })

  test.each([
    [{ context_keys: [] }, 'context_keys'],
    [{ context_keys: ['a', 'b', 'a'] }, 'context_keys[2]'],
    [{ context_keys: [null, 'a', ''] }, 'context_keys[2]'],
    [{ context_keys: ['', null] }, 'context_keys[1]'],
    [{ context_keys: Array.from({ length: 51 }, (_, i) => `k${i}`) }, 'context_keys'],
    [{ attributes: { country: 'DEU' } }, 'attributes.country'],
    [{ attributes: { target_platform: 'ios' } }, 'attributes.target_platform'],
    [{ attributes: { app_version: '' } }, 'attributes.app_version'],
    [{ dry_run: 'yes' }, 'dry_run'],
  ])('%j is refused', async (body, field) => {
    const wrong = await make.call('POST', `/v4/users/${await make.user()}/remote-configurations`, body)
    expect(wrong.status).toBe(400)
    expect(wrong.body.error.details[0].field).toBe(field)
  })

  test('a user of another environment is not found', async () => {
    const user = await make.user()
    const answer = await api.call('POST', `/v4/users/${user}/remote-configurations`, { key: api.project.sandbox })
    expect([answer.status, answer.body.error.code]).toEqual([404, 'not_found'])
  })

  test('an evaluation leaves no audit entry and updates last_seen; a dry run does not', async () => {
    const user = await make.user()
    await api.pool.query(`update users set last_seen_at = '2026-01-01T00:00:00Z' where id = $1`, [user])
    const seen = async () => (await api.pool.query('select last_seen_at as at from users where id = $1', [user])).rows[0].at
    await make.evaluate(user, { dry_run: true })
    expect(await seen()).toBe('2026-01-01T00:00:00Z')
    await make.evaluate(user)
    expect(await seen()).not.toBe('2026-01-01T00:00:00Z')
    const entries = await api.pool.query('select 1 from audit_log where operation = $1', ['v4EvaluateUserRemoteConfigurations'])
    expect(entries.rowCount).toBe(0)
  })
})

describe('an experiment', () => {
  test('serves the payload of its group, in any state and for any audience of that configuration', async () => {
    const key = newKey()
    const configuration = await make.configuration(
      { sale: true },
      { segment_percent: 0, name: 'Sale', segmentation_conditions: [{ metric: 'country', comparator: 'eq', value: 'XX' }] },
      'draft',
    )
    const { id, groups } = await make.running({ context_key: key, name: 'Test' }, [{ weight: 0 }, { remote_config_uid: configuration }])
    const user = await make.user()
    const item = await one(user, key)
    expect(item).toEqual({
      object: 'user_remote_configuration',
      context_key: key,
      payload: { sale: true },
      source: { uid: configuration, name: 'Sale', assignment_type: 'auto', type: 'experiment_treatment_group' },
      experiment: { uid: id, name: 'Test', group: { uid: groups[1], name: null, type: 'treatment', offering: null } },
    })
    expect(await one(user, key)).toEqual(item)
  })

  test('leaves payload and source to targeting when the group has no configuration', async () => {
    const key = newKey()
    await make.configuration({ n: 1 }, { context_key: key })
    const { groups } = await make.running({ context_key: key }, [{}, { weight: 0 }])
    expect(await one(await make.user(), key)).toMatchObject({
      payload: { n: 1 },
      source: { type: 'remote_configuration', assignment_type: 'auto' },
      experiment: { group: { uid: groups[0], type: 'control' } },
    })
  })

  test('keeps its users when it is paused, when weights or percentage change, and when a user leaves its audience', async () => {
    const key = newKey()
    const { id, groups } = await make.running(
      { context_key: key, segmentation_conditions: [{ metric: 'country', comparator: 'eq', value: 'DE' }] },
      [{ weight: 0 }, {}],
    )
    const user = await make.user()
    const group = async (who: string, country: string) => (await one(who, key, { attributes: { country } })).experiment?.group.uid ?? null
    expect(await group(user, 'FR')).toBeNull()
    expect(await group(user, 'DE')).toBe(groups[1])
    await make.call('PATCH', `/v4/experiments/${id}/groups/${groups[0]}`, { weight: 5 })
    await make.call('PATCH', `/v4/experiments/${id}/groups/${groups[1]}`, { weight: 0 })
    await make.call('PATCH', `/v4/experiments/${id}`, { segment_percent: 0 })
    expect(await group(user, 'FR')).toBe(groups[1])
    expect(await group(await make.user(), 'DE')).toBeNull()
    await make.call('PATCH', `/v4/experiments/${id}`, { segment_percent: 100 })
    await make.status(id, 'paused')
    expect(await group(user, 'FR')).toBe(groups[1])
    expect(await group(await make.user(), 'DE')).toBeNull()
    await make.status(id, 'active')
    expect(await group(await make.user(), 'DE')).toBe(groups[0])
    await make.status(id, 'finished')
    expect(await group(user, 'DE')).toBeNull()
    expect(await assignments(user)).toHaveLength(1)
  })

  test('a dry run decides the same and records nothing', async () => {
    const key = newKey()
    await make.running({ context_key: key })
    const user = await make.user()
    const dry = await one(user, key, { dry_run: true })
    expect(dry.experiment).not.toBeNull()
    expect(await assignments(user)).toEqual([])
    expect(await one(user, key)).toEqual(dry)
  })

  test('the older experiment is first; a user outside of its percentage goes to the next', async () => {
    const key = newKey()
    const older = await make.running({ context_key: key, segment_percent: 50, is_context_specific: true })
    const newer = await make.running({ context_key: key, is_context_specific: true })
    await api.pool.query(`update experiments set started_at = started_at - interval '1 day' where id = $1`, [older.id])
    const seen = new Set<string>()
    for (let i = 0; i < 24; i++) seen.add((await one(await make.user(), key)).experiment.uid)
    expect(seen).toEqual(new Set([older.id, newer.id]))
    await make.call('PATCH', `/v4/experiments/${older.id}`, { segment_percent: 100 })
    for (let i = 0; i < 5; i++) expect((await one(await make.user(), key)).experiment.uid).toBe(older.id)
  })

  test('an experiment that is not context specific includes no user of another one, within one request, too', async () => {
    const [a, b, c] = [newKey(), newKey(), newKey()]
    const first = await make.running({ context_key: a })
    await make.running({ context_key: b })
    const specific = await make.running({ context_key: c, is_context_specific: true })
    const user = await make.user()
    const items = await make.evaluate(user, { context_keys: [a, b, c] })
    expect(items.map((i: Fields & { experiment: { uid: string } | null }) => i.experiment?.uid ?? null)).toEqual([
      first.id,
      null,
      specific.id,
    ])
    await make.status(first.id, 'finished')
    expect((await one(user, b)).experiment).toBeNull()
    await make.call('DELETE', `/v4/experiments/${specific.id}/users/${user}`)
    expect((await one(user, b)).experiment).not.toBeNull()
  })

  test('fifty concurrent evaluations of one user give one assignment and one response', async () => {
    const key = newKey()
    await make.running({ context_key: key }, [{}, {}, {}])
    const user = await make.user()
    const many = await Promise.all(Array.from({ length: 50 }, () => make.evaluate(user, { context_keys: [key] })))
    expect(new Set(many.map(answer => JSON.stringify(answer))).size).toBe(1)
    expect(await assignments(user)).toHaveLength(1)
  })

  test('fifty concurrent evaluations for two exclusive experiments leave the user in one', async () => {
    const [a, b] = [newKey(), newKey()]
    await make.running({ context_key: a })
    await make.running({ context_key: b })
    for (let round = 0; round < 3; round++) {
      const user = await make.user()
      const many = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          make.call('POST', `/v4/users/${user}/remote-configurations`, { context_keys: [i % 2 ? a : b] }),
        ),
      )
      expect(new Set(many.map(answer => answer.status))).toEqual(new Set([200]))
      expect(await assignments(user)).toHaveLength(1)
    }
  })
})

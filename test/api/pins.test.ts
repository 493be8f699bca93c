import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { growth } from '../harness/experiments.ts'

let api: TestApi
let make: ReturnType<typeof growth>
beforeAll(async () => {
  api = await startApi()
  make = growth(api)
})
afterAll(() => api.stop())

let keys = 0
const newKey = () => `key-${++keys}`
const toConfiguration = (config: string, user: string, method = 'POST') =>
  make.call(method, `/v4/remote-configurations/${config}/users/${user}`)
const toGroup = (experiment: string, user: string, group_id: string) =>
  make.call('POST', `/v4/experiments/${experiment}/users/${user}`, { group_id })
const leave = (experiment: string, user: string) => make.call('DELETE', `/v4/experiments/${experiment}/users/${user}`)
const one = async (user: string, key: string | null) => (await make.evaluate(user, { context_keys: [key] }))[0]
const source = async (user: string, key: string | null) => {
  const { uid, assignment_type } = (await one(user, key)).source ?? {}
  return [uid, assignment_type]
}
const pinsOf = async (user: string) => (await api.pool.query('select config_id from configuration_pins where user_id = $1', [user])).rows
const assigned = async (user: string) =>
  (await api.pool.query('select experiment_id, group_id, pinned, assigned_at from experiment_assignments where user_id = $1', [user])).rows
const entries = async (user: string) =>
  (await api.pool.query("select operation, before, after from audit_log where user_id = $1 and resource <> 'user' order by id", [user]))
    .rows

describe('a pin to a remote configuration', () => {
  test('has precedence over experiments and targeting, as soon as the configuration is active', async () => {
    const key = newKey()
    const everybody = await make.configuration({}, { context_key: key })
    const pinned = await make.configuration({ mine: 1 }, { context_key: key, segment_percent: 0 }, 'draft')
    const { id } = await make.running({ context_key: key })
    const user = await make.user()
    expect((await toConfiguration(pinned, user)).status).toBe(204)
    expect((await one(user, key)).experiment.uid).toBe(id)
    await make.call('PATCH', `/v4/remote-configurations/${pinned}/status`, { status: 'active' })
    expect(await one(user, key)).toMatchObject({
      payload: { mine: 1 },
      source: { uid: pinned, assignment_type: 'manual', type: 'remote_configuration' },
      experiment: null,
    })
    await make.call('PATCH', `/v4/remote-configurations/${pinned}/status`, { status: 'archived' })
    expect(await source(user, key)).toEqual([everybody, 'auto'])
    expect(await pinsOf(user)).toHaveLength(1)
    await make.call('DELETE', `/v4/remote-configurations/${pinned}`)
    expect(await pinsOf(user)).toEqual([])
  })

  test('exists once per context key: a new one replaces the old one, those of other keys stay', async () => {
    const key = newKey()
    const [a, b] = [await make.configuration({}, { context_key: key }), await make.configuration({}, { context_key: key })]
    const elsewhere = await make.configuration({}, { context_key: newKey() })
    const { id, groups } = await make.running({ context_key: key })
    const user = await make.user()
    for (const config of [elsewhere, a, b, b]) await toConfiguration(config, user)
    expect((await pinsOf(user)).map(row => row.config_id).sort()).toEqual([elsewhere, b].sort())
    await toGroup(id, user, groups[1]!)
    expect((await pinsOf(user)).map(row => row.config_id)).toEqual([elsewhere])
    await toConfiguration(a, user)
    expect(await assigned(user)).toEqual([])
    expect(await source(user, key)).toEqual([a, 'manual'])
    expect((await entries(user)).map(entry => entry.operation)).toEqual([
      ...Array(3).fill('v4AttachUserToRemoteConfiguration'),
      'v4AttachUserToExperiment',
      'v4AttachUserToRemoteConfiguration',
    ])
  })

  test('after an edit of the context key has left two, the newest counts, and a repeat leaves one', async () => {
    const key = newKey()
    const old = await make.configuration({}, { context_key: newKey() })
    const young = await make.configuration({}, { context_key: key })
    const user = await make.user()
    await toConfiguration(old, user)
    await toConfiguration(young, user)
    await make.call('PUT', `/v4/remote-configurations/${old}`, { name: 'moved', context_key: key })
    expect(await source(user, key)).toEqual([young, 'manual'])
    await toConfiguration(old, user)
    expect(await source(user, key)).toEqual([old, 'manual'])
    expect(await pinsOf(user)).toHaveLength(1)
  })

  test('counts null as one key', async () => {
    const config = await make.configuration({})
    const { id, groups } = await make.running({ context_key: '' }, [{}, {}])
    const user = await make.user()
    await toConfiguration(config, user)
    await toGroup(id, user, groups[0]!)
    expect(await pinsOf(user)).toEqual([])
    await make.status(id, 'finished')
  })

  test('can be removed, and a second removal succeeds, too', async () => {
    const config = await make.configuration({})
    const user = await make.user()
    await toConfiguration(config, user)
    expect((await toConfiguration(config, user, 'DELETE')).status).toBe(204)
    expect((await toConfiguration(config, user, 'DELETE')).status).toBe(204)
    expect((await entries(user)).map(entry => entry.operation)).toEqual([
      'v4AttachUserToRemoteConfiguration',
      'v4DetachUserFromRemoteConfiguration',
    ])
    for (const method of ['POST', 'DELETE']) {
      expect((await toConfiguration(config, 'nobody', method)).status).toBe(404)
      expect((await toConfiguration('nothing', user, method)).status).toBe(404)
    }
  })

  test('remains exactly one after concurrent attachments to four configurations and a group of one key', async () => {
    const key = newKey()
    const configs = await Promise.all(Array.from({ length: 4 }, () => make.configuration({}, { context_key: key })))
    const { id, groups } = await make.running({ context_key: key })
    for (let round = 0; round < 10; round++) {
      const user = await make.user()
      const many = await Promise.all([toGroup(id, user, groups[round % 2]!), ...configs.map(config => toConfiguration(config, user))])
      expect(new Set(many.map(answer => answer.status))).toEqual(new Set([204]))
      expect((await pinsOf(user)).length + (await assigned(user)).length).toBe(1)
    }
  })
})

describe('a pin to a group', () => {
  test('replaces the automatic assignment; assigned_at moves only with the group', async () => {
    const key = newKey()
    const { id, groups } = await make.running({ context_key: key }, [{ weight: 0 }, {}])
    const [control, treatment] = groups as [string, string]
    const user = await make.user()
    await one(user, key)
    await api.pool.query(`update experiment_assignments set assigned_at = '2026-01-01T00:00:00Z' where user_id = $1`, [user])
    await toGroup(id, user, treatment)
    expect(await assigned(user)).toEqual([{ experiment_id: id, group_id: treatment, pinned: true, assigned_at: '2026-01-01T00:00:00Z' }])
    await toGroup(id, user, treatment)
    await toGroup(id, user, control)
    const [moved] = await assigned(user)
    expect(moved).toMatchObject({ group_id: control, pinned: true })
    expect(moved.assigned_at > '2026-01-01T00:00:00Z').toBe(true)
    expect((await one(user, key)).experiment.group).toMatchObject({ uid: control, type: 'control' })
    expect((await entries(user)).map(entry => [entry.before?.group_id, entry.after.group_id])).toEqual([
      [treatment, treatment],
      [treatment, control],
    ])
  })

  test('has precedence over an older assignment to another experiment, and is shown as manual', async () => {
    const key = newKey()
    const config = await make.configuration({ p: 1 })
    const first = await make.running({ context_key: key, is_context_specific: true })
    const user = await make.user()
    expect((await one(user, key)).experiment.uid).toBe(first.id)
    const second = await make.running({ context_key: key, segment_percent: 0 }, [{}, { remote_config_uid: config }])
    await toGroup(second.id, user, second.groups[1]!)
    expect(await one(user, key)).toMatchObject({
      payload: { p: 1 },
      source: { assignment_type: 'manual', type: 'experiment_treatment_group' },
      experiment: { uid: second.id },
    })
    await make.status(second.id, 'paused')
    expect((await one(user, key)).experiment.uid).toBe(second.id)
    await make.status(second.id, 'finished')
    expect((await one(user, key)).experiment.uid).toBe(first.id)
  })

  test('can be set in a draft and takes effect with its activation; pins are deleted with their group', async () => {
    const key = newKey()
    const { id, groups } = await make.running({ context_key: key }, [{}, {}, {}], 'draft')
    const [user, other] = [await make.user(), await make.user()]
    await toGroup(id, user, groups[1]!)
    await toGroup(id, other, groups[2]!)
    expect((await one(user, key)).experiment).toBeNull()
    await make.call('DELETE', `/v4/experiments/${id}/groups/${groups[2]}`)
    expect(await assigned(other)).toEqual([])
    await make.status(id, 'active')
    expect((await one(user, key)).experiment.group.uid).toBe(groups[1])
  })

  test('allows a new assignment after its removal; a finished experiment refuses both', async () => {
    const key = newKey()
    const { id, groups } = await make.running({ context_key: key }, [{}, { weight: 0 }])
    const user = await make.user()
    await toGroup(id, user, groups[1]!)
    expect((await leave(id, user)).status).toBe(204)
    expect((await leave(id, user)).status).toBe(204)
    expect((await one(user, key)).experiment.group.uid).toBe(groups[0])
    const other = await make.experiment()
    for (const [experiment, who, group] of [
      [id, 'nobody', groups[0]],
      [id, user, 'grp_none'],
      [other.id, user, groups[0]],
      ['exp_none', user, groups[0]],
    ] as const)
      expect((await toGroup(experiment, who, group!)).status).toBe(404)
    expect((await leave(id, 'nobody')).status).toBe(404)
    await make.status(id, 'finished')
    expect((await toGroup(id, user, groups[0]!)).body.error.code).toBe('conflict')
    expect((await leave(id, user)).body.error.code).toBe('conflict')
    expect((await toGroup(id, 'nobody', groups[0]!)).status).toBe(404)
    expect(await assigned(user)).toHaveLength(1)
  })
})

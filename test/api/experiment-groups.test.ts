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

const groupsOf = async (id: string) => (await make.call('GET', `/v4/experiments/${id}/groups`)).body.data
const patch = (experiment: string, group: string, body: object) => make.call('PATCH', `/v4/experiments/${experiment}/groups/${group}`, body)

describe('groups', () => {
  test('are listed in the order of their creation, with defaults', async () => {
    const { id } = await make.experiment()
    const first = await make.group(id)
    expect(first).toEqual({
      object: 'experiment_group',
      id: expect.stringMatching(/^grp_[0-9a-z]{20}$/),
      url: `/v4/experiments/${id}/groups/${first.id}`,
      name: null,
      is_control: false,
      weight: 1,
      remote_config_uid: null,
      offering_uid: null,
      offering_tag: null,
      created_at: first.updated_at,
      updated_at: expect.any(String),
    })
    const ids = [first.id]
    for (let i = 0; i < 4; i++) ids.push((await make.group(id, { name: `g${i}`, weight: 0.25 * i })).id)
    const list = await make.call('GET', `/v4/experiments/${id}/groups`)
    expect(list.body).toMatchObject({ object: 'list', url: `/v4/experiments/${id}/groups`, has_more: false })
    expect(list.body.data.map((g: { id: string }) => g.id)).toEqual(ids)
  })

  test('are at most twenty, even with fifty concurrent creations', async () => {
    const { id } = await make.experiment()
    const many = await Promise.all(Array.from({ length: 50 }, () => make.call('POST', `/v4/experiments/${id}/groups`, { weight: 1 })))
    expect(many.filter(answer => answer.status === 201)).toHaveLength(20)
    expect(new Set(many.filter(answer => answer.status !== 201).map(answer => answer.body.error.code))).toEqual(new Set(['conflict']))
    expect(await groupsOf(id)).toHaveLength(20)
  })

  test('have exactly one control after fifty concurrent changes of the flag', async () => {
    const { id } = await make.experiment()
    const ids: string[] = []
    for (let i = 0; i < 10; i++) ids.push((await make.group(id, { is_control: i % 2 === 0 })).id)
    const many = await Promise.all(Array.from({ length: 50 }, (_, i) => patch(id, ids[i % 10]!, { is_control: true })))
    expect(many.every(answer => answer.status === 200)).toBe(true)
    const controls = (await groupsOf(id)).filter((g: { is_control: boolean }) => g.is_control)
    expect(controls).toHaveLength(1)
    await make.group(id, { is_control: true })
    const after = (await groupsOf(id)).filter((g: { is_control: boolean }) => g.is_control)
    expect(after).toHaveLength(1)
    expect(after[0].id).not.toBe(controls[0].id)
  })

  test('must refer to existing resources: 404 for unknown ones, 409 for an archived remote configuration', async () => {
    const { id } = await make.experiment()
    const group = await make.group(id)
    const archived = await make.configuration({}, {}, 'archived')
    for (const [body, code, word] of [
      [{ remote_config_uid: 'none' }, 'not_found', 'remote_config_uid'],
      [{ offering_uid: 'none' }, 'not_found', 'offering_uid'],
      [{ remote_config_uid: archived }, 'conflict', 'archived'],
    ] as const) {
      for (const answer of [
        await make.call('POST', `/v4/experiments/${id}/groups`, { weight: 1, ...body }),
        await patch(id, group.id, body),
      ]) {
        expect(answer.body.error.code).toBe(code)
        expect(answer.body.error.message).toContain(word)
      }
    }
    const draft = await make.configuration({}, {}, 'draft')
    expect((await patch(id, group.id, { remote_config_uid: draft })).body.remote_config_uid).toBe(draft)
    expect((await make.group(id, { remote_config_uid: draft })).remote_config_uid).toBe(draft)
  })

  test('belong to their experiment', async () => {
    const { groups } = await make.running({}, [{}, {}], 'draft')
    const other = await make.experiment()
    expect((await patch(other.id, groups[0]!, { weight: 2 })).status).toBe(404)
    expect((await make.call('DELETE', `/v4/experiments/${other.id}/groups/${groups[0]}`)).status).toBe(404)
  })

  test('of a running experiment can change only name and weight, and the sum of weights stays positive; of a finished one nothing changes', async () => {
    const { id, groups } = await make.running({}, [{ weight: 1 }, { weight: 0 }])
    const [control, treatment] = groups as [string, string]
    const configuration = await make.configuration({})
    for (const body of [{ is_control: true }, { remote_config_uid: configuration }, { offering_uid: 'x' }])
      expect((await patch(id, treatment, body)).body.error.code).toBe('conflict')
    expect((await patch(id, treatment, { is_control: false, remote_config_uid: null, name: 'B' })).body.name).toBe('B')
    expect((await patch(id, control, { weight: 0 })).body.error.message).toContain('above 0')
    expect((await patch(id, treatment, { weight: 2 })).body.weight).toBe(2)
    expect((await patch(id, control, { weight: 0 })).body.weight).toBe(0)
    expect((await make.call('POST', `/v4/experiments/${id}/groups`, { weight: 1 })).body.error.code).toBe('conflict')
    expect((await make.call('DELETE', `/v4/experiments/${id}/groups/${control}`)).body.error.code).toBe('conflict')
    await make.status(id, 'finished')
    expect((await patch(id, treatment, { name: 'C' })).body.error.code).toBe('conflict')
    expect((await patch(id, treatment, { name: 'B' })).status).toBe(200)
  })

  test('two concurrent zero weights cannot both succeed', async () => {
    const { id, groups } = await make.running({}, [{}, {}])
    const answers = await Promise.all(groups.map(group => patch(id, group, { weight: 0 })))
    expect(answers.map(answer => answer.status).sort()).toEqual([200, 409])
  })

  test('leave one entry for a change, and none for an unchanged update', async () => {
    const { id } = await make.experiment()
    const group = await make.group(id)
    for (let i = 0; i < 3; i++) await patch(id, group.id, { name: 'A', weight: 1 })
    await make.call('DELETE', group.url)
    const { rows } = await api.pool.query('select operation, before from audit_log where resource_id = $1 order by id', [group.id])
    expect(rows.map(row => row.operation)).toEqual(['v4CreateExperimentGroup', 'v4UpdateExperimentGroup', 'v4DeleteExperimentGroup'])
    expect(rows[2].before).toMatchObject({ name: 'A' })
  })
})

describe('a remote configuration in use', () => {
  test.each(['active', 'paused'])('cannot be archived or deleted while the experiment is %s', async to => {
    const configuration = await make.configuration({})
    const { id } = await make.running({}, [{}, { remote_config_uid: configuration }])
    await make.status(id, to)
    const refused = [
      await make.call('PATCH', `/v4/remote-configurations/${configuration}/status`, { status: 'archived' }),
      await make.call('DELETE', `/v4/remote-configurations/${configuration}`),
    ]
    expect(refused.map(answer => answer.body.error.code)).toEqual(['conflict', 'conflict'])
    expect((await make.call('PATCH', `/v4/remote-configurations/${configuration}/status`, { status: 'active' })).status).toBe(200)
    await make.status(id, 'finished')
    expect((await make.call('DELETE', `/v4/remote-configurations/${configuration}`)).status).toBe(204)
    expect((await groupsOf(id))[1].remote_config_uid).toBe(configuration)
  })

  test('is removed from the groups of a draft with its deletion', async () => {
    const configuration = await make.configuration({})
    const { id } = await make.running({}, [{}, { remote_config_uid: configuration }], 'draft')
    expect((await make.call('DELETE', `/v4/remote-configurations/${configuration}`)).status).toBe(204)
    expect((await groupsOf(id))[1].remote_config_uid).toBeNull()
  })

  test('concurrent activation and deletion never leave an active experiment without its configuration', async () => {
    for (let round = 0; round < 8; round++) {
      const configuration = await make.configuration({})
      const { id } = await make.running({}, [{}, { remote_config_uid: configuration }], 'draft')
      const [activated, deleted] = await Promise.all([
        make.status(id, 'active'),
        make.call('DELETE', `/v4/remote-configurations/${configuration}`),
      ])
      expect(activated.status).toBe(200)
      expect([204, 409]).toContain(deleted.status)
      expect((await groupsOf(id))[1].remote_config_uid).toBe(deleted.status === 204 ? null : configuration)
    }
  })
})

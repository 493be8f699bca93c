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

const segment = async (): Promise<string> => (await make.call('POST', '/v4/segments', { name: 's' })).body.id
const named = (id: string) => ({ segmentation_conditions: [{ metric: 'segment', comparator: 'eq', value: id }] })
const evaluate = (user: string) => make.call('POST', `/v4/users/${user}/remote-configurations`)

describe('concurrent use and removal', () => {
  test('of a segment: no remote configuration or experiment is active without it', async () => {
    for (let round = 0; round < 6; round++) {
      const id = await segment()
      const configuration = await make.configuration({}, named(id), 'draft')
      const experiment = (await make.running(named(id), [{}, {}], 'draft')).id
      const [first, second, deleted] = await Promise.all([
        make.call('PATCH', `/v4/remote-configurations/${configuration}/status`, { status: 'active' }),
        make.status(experiment, 'active'),
        make.call('DELETE', `/v4/segments/${id}`),
      ])
      expect([200, 409]).toContain(first.status)
      expect([200, 409]).toContain(second.status)
      expect([204, 409]).toContain(deleted.status)
      const isGone = (await make.call('GET', `/v4/segments/${id}`)).status === 404
      expect(isGone).toBe(deleted.status === 204)
      if (isGone) expect([first.status, second.status]).toEqual([409, 409])
      else expect([first.status, second.status]).toContain(200)
      await make.status(experiment, 'finished')
      await make.call('PATCH', `/v4/remote-configurations/${configuration}/status`, { status: 'archived' })
    }
  })

  test('of an experiment during evaluations: every evaluation succeeds', async () => {
    for (let round = 0; round < 4; round++) {
      const { id } = await make.running({ context_key: `gone-${round}`, is_context_specific: true })
      const users = await Promise.all(Array.from({ length: 20 }, () => make.user()))
      const [answers] = await Promise.all([
        Promise.all(users.map(evaluate)),
        make.status(id, 'finished').then(() => make.call('DELETE', `/v4/experiments/${id}`)),
      ])
      expect(new Set(answers.map(answer => answer.status))).toEqual(new Set([200]))
      const left = await api.pool.query('select 1 from experiment_assignments where experiment_id = $1', [id])
      expect(left.rowCount).toBe(0)
    }
  })

  test('of a configuration: an active experiment keeps the payload that it serves', async () => {
    for (let round = 0; round < 6; round++) {
      const configuration = await make.configuration({ n: round })
      const { id, groups } = await make.running(
        { context_key: `k${round}` },
        [{ weight: 0 }, { remote_config_uid: configuration }],
        'draft',
      )
      const [activated, archived] = await Promise.all([
        make.status(id, 'active'),
        make.call('PATCH', `/v4/remote-configurations/${configuration}/status`, { status: 'archived' }),
      ])
      expect(activated.status).toBe(200)
      expect([200, 409]).toContain(archived.status)
      const [item] = await make.evaluate(await make.user(), { context_keys: [`k${round}`] })
      expect(item).toMatchObject({ payload: { n: round }, experiment: { group: { uid: groups[1] } } })
      await make.status(id, 'finished')
    }
  })

  test('of groups: an experiment starts with two groups and one control, or its activation is refused', async () => {
    for (let round = 0; round < 6; round++) {
      const { id, groups } = await make.running({}, [{}, {}], 'draft')
      const [activated, changed] = await Promise.all([
        make.status(id, 'active'),
        round % 2
          ? make.call('DELETE', `/v4/experiments/${id}/groups/${groups[1]}`)
          : make.call('PATCH', `/v4/experiments/${id}/groups/${groups[0]}`, { is_control: false }),
      ])
      expect([activated.status, changed.status >= 400]).toEqual(activated.status === 200 ? [200, true] : [409, false])
    }
  })
})

describe('a repeat with the same Idempotency-Key', () => {
  test('gives the first response and creates nothing', async () => {
    const experiment = (await make.running({}, [{}, {}], 'draft')).id
    const configuration = await make.configuration({})
    const user = await make.user()
    const requests: [string, object | undefined][] = [
      ['/v4/remote-configurations', { name: 'once' }],
      [`/v4/remote-configurations/${configuration}/payload-mapping`, { data: { a: 'Bool' } }],
      [`/v4/remote-configurations/${configuration}/users/${user}`, undefined],
      ['/v4/experiments', { name: 'once', alias_id: 'once' }],
      ['/v4/experiments', { name: 'twice', alias_id: 'once' }],
      [`/v4/experiments/${experiment}/groups`, { weight: 3 }],
      [`/v4/experiments/${experiment}/status`, { status: 'paused' }],
    ]
    for (const [i, [path, body]] of requests.entries()) {
      const send = () => api.call('POST', path, { body, headers: { 'Idempotency-Key': `k-${i}` } })
      const [first, again] = [await send(), await send()]
      expect([again.status, again.text], path).toEqual([first.status, first.text])
      expect(again.headers.get('idempotency-replayed')).toBe('true')
      expect(again.headers.get('location')).toBe(first.headers.get('location'))
    }
    expect((await make.call('GET', `/v4/experiments/${experiment}/groups`)).body.data).toHaveLength(3)
  })
})

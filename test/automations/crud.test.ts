import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Ground, ground, LONG, on } from './ground.ts'

let api: TestApi
let g: Ground
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())
beforeEach(async () => {
  g = await ground(api)
})

const put = (id: string, body: object) => g.call('PUT', `/v4/automations/${id}`, { body })

describe('an automation', () => {
  test('is stored complete and shown so, from its answer on', async () => {
    const screen = await g.screen()
    const made = await g.made('/v4/automations', {
      name: 'A',
      status: 'inactive',
      data: { type: 'anything', initiators: on('1'), actions: { screen, event: { dropped: true } } },
    })
    expect(made).toEqual({
      object: 'automation',
      id: expect.stringMatching(/^auto_[0-9a-z]{20}$/),
      url: `/v4/automations/${made.id}`,
      name: 'A',
      caption: '',
      status: 'inactive',
      data: { type: 'event', platform: null, initiators: on('1'), actions: { screen }, segments: null, reentry: true },
      version: 1,
    })
    expect((await g.call('GET', made.url)).body).toEqual(made)
    expect((await g.call('GET', '/v4/automations')).body.data).toEqual([made])
  })

  test('shows nested steps with their defaults, in the order of the description; its actions are then empty', async () => {
    const screen = await g.screen()
    const conditions = [
      { metric: 'step:w', comparator: 'eq', value: 'event' },
      { metric: 'event:platform', comparator: 'ne', value: '', negate: true },
      { metric: 'country', comparator: 'eq', value: 'DE' },
    ]
    const steps = [
      { type: 'wait_for_event', timeout: 'P1Y', id: 'w', event: '8' },
      { id: 'b', type: 'branch', conditions, then: [{ id: 's', type: 'screen', screen }] },
      { id: 'e', type: 'email', subject: 'Hello', text: 'You' },
    ]
    const { data } = await g.automation({ actions: { screen }, steps, frequency: { per: 'day', max_runs_per_user: 3 }, reentry: false })
    expect(JSON.stringify(data)).toBe(
      JSON.stringify({
        type: 'event',
        platform: null,
        initiators: on('go'),
        actions: {},
        segments: null,
        steps: [
          { id: 'w', type: 'wait_for_event', event: '8', timeout: 'P1Y', on_timeout: [] },
          {
            id: 'b',
            type: 'branch',
            conditions: conditions.map(condition => ({ ...condition, negate: condition.negate ?? false })),
            then: [{ id: 's', type: 'screen', screen }],
            else: [],
          },
          { id: 'e', type: 'email', subject: 'Hello', text: 'You' },
        ],
        frequency: { max_runs_per_user: 3, per: 'day' },
        reentry: false,
      }),
    )
  })

  test('has a new version with every change of its data, and with no other', async () => {
    const { id, data } = await g.automation()
    expect((await put(id, { name: 'B', caption: 'c', status: 'active', data })).body).toMatchObject({ name: 'B', caption: 'c', version: 1 })
    expect((await put(id, { name: 'B', status: 'active', data: { ...data, reentry: false } })).body).toMatchObject({
      caption: '',
      version: 2,
    })
    const { rows } = await api.pool.query(
      'select version, data ->> $2 as reentry from automation_versions where automation_id = $1 order by 1',
      [id, 'reentry'],
    )
    expect(rows).toEqual([
      { version: 1, reentry: 'true' },
      { version: 2, reentry: 'false' },
    ])
  })

  test('that is sent again as it is leaves no trace', async () => {
    const { id } = await g.automation()
    const body = { name: 'A', status: 'active', data: { initiators: on('go'), steps: LONG } }
    const traces = async () =>
      (
        await api.pool.query(
          'select updated_at::text, (select count(*) from audit_log where resource_id = $1) from automations where id = $1',
          [id],
        )
      ).rows
    const before = await traces()
    expect((await put(id, body)).status).toBe(200)
    expect(await traces()).toEqual(before)
  })

  test('keeps the place in the log of initiators that stay; new ones begin at its end', async () => {
    const user = await g.user()
    const { id, data } = await g.automation()
    await g.tell([
      { event_name: 'go', customer_uid: user },
      { event_name: 'more', customer_uid: user },
    ])
    await put(id, { name: 'A', status: 'active', data: { ...data, initiators: on('more', 'go') } })
    await g.tell([{ event_name: 'more', customer_uid: user }])
    await g.read()
    const runs = await g.runs(id)
    expect(runs.map(({ event, automation_version }) => [event.event_name, automation_version])).toEqual([
      ['more', 2],
      ['go', 2],
    ])
  })

  test('looks only at what was appended after it was made', async () => {
    const user = await g.user()
    // Somebody else has already begun to read the log, and is behind.
    await g.automation({ initiators: on('other') })
    await g.tell([{ event_name: 'go', customer_uid: user }])
    const { id } = await g.automation()
    await g.read()
    expect(await g.runs(id)).toEqual([])
  })

  test('is gone when it is deleted: its runs are cancelled and stay readable, its list does not', async () => {
    const user = await g.user()
    const { id, url } = await g.automation()
    await g.tell([{ event_name: 'go', customer_uid: user }])
    await g.read()
    const [run] = await g.runs(id)
    expect((await g.call('DELETE', url)).status).toBe(204)
    expect((await g.call('GET', url)).status).toBe(404)
    expect((await g.call('GET', `${url}/runs`)).status).toBe(404)
    expect((await g.call('GET', run.url)).body).toMatchObject({ status: 'cancelled', reason: 'automation_deleted', due_at: null })
    await g.tell([{ event_name: 'go', customer_uid: user }])
    await g.read()
    const { rows } = await api.pool.query('select count(*)::int from automation_runs where automation_id = $1', [id])
    expect(rows).toEqual([{ count: 1 }])
  })
})

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type AutomationProject, automationProject, LONG, on } from './fixture.ts'

let api: TestApi
let fixture: AutomationProject
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())
beforeEach(async () => {
  fixture = await automationProject(api)
})

const put = (id: string, body: object) => fixture.call('PUT', `/v4/automations/${id}`, { body })

describe('an automation', () => {
  test('is stored and returned completely', async () => {
    const screen = await fixture.screen()
    const created = await fixture.create('/v4/automations', {
      name: 'A',
      status: 'inactive',
      data: { type: 'anything', initiators: on('1'), actions: { screen, event: { dropped: true } } },
    })
    expect(created).toEqual({
      object: 'automation',
      id: expect.stringMatching(/^auto_[0-9a-z]{20}$/),
      url: `/v4/automations/${created.id}`,
      name: 'A',
      caption: '',
      status: 'inactive',
      data: { type: 'event', platform: null, initiators: on('1'), actions: { screen }, segments: null, reentry: true },
      version: 1,
      created_at: expect.stringMatching(/Z$/),
      updated_at: created.created_at,
    })
    const read = { ...created, activity: expect.objectContaining({ runs: 0, failed: 0, last_run_at: null }) }
    expect((await fixture.call('GET', created.url)).body).toEqual(read)
    expect((await fixture.call('GET', '/v4/automations')).body.data).toEqual([read])
  })

  test('has nested steps with their defaults, in the documented order, and then no actions', async () => {
    const screen = await fixture.screen()
    const conditions = [
      { metric: 'step:w', comparator: 'eq', value: 'event' },
      { metric: 'event:platform', comparator: 'ne', value: '', negate: true },
      { metric: 'country', comparator: 'eq', value: 'DE' },
    ]
    const steps = [
      { type: 'wait_for_event', timeout: 'P1Y', id: 'w', event: ['8', 'came_back'] },
      { id: 'b', type: 'branch', conditions, then: [{ id: 's', type: 'screen', screen }] },
      { id: 'e', type: 'email', subject: 'Hello', text: 'You' },
    ]
    const { data } = await fixture.automation({
      actions: { screen },
      steps,
      frequency: { per: 'day', max_runs_per_user: 3 },
      reentry: false,
    })
    expect(JSON.stringify(data)).toBe(
      JSON.stringify({
        type: 'event',
        platform: null,
        initiators: on('go'),
        actions: {},
        segments: null,
        steps: [
          { id: 'w', type: 'wait_for_event', event: ['8', 'came_back'], timeout: 'P1Y', on_timeout: [] },
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

  test('gets a new version with every change of its data, and with no other change', async () => {
    const { id, data } = await fixture.automation()
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

  test('that is sent again unchanged leaves no trace', async () => {
    const { id } = await fixture.automation()
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

  test('keeps the log offset of initiators that remain; new ones start at the end of the log', async () => {
    const user = await fixture.user()
    const { id, data } = await fixture.automation()
    await fixture.post([
      { event_name: 'go', customer_uid: user },
      { event_name: 'more', customer_uid: user },
    ])
    await put(id, { name: 'A', status: 'active', data: { ...data, initiators: on('more', 'go') } })
    await fixture.post([{ event_name: 'more', customer_uid: user }])
    await fixture.read()
    const runs = await fixture.runs(id)
    expect(runs.map(({ event, automation_version }) => [event.event_name, automation_version])).toEqual([
      ['more', 2],
      ['go', 2],
    ])
  })

  test('reads only events that were appended after its creation', async () => {
    const user = await fixture.user()
    // Another automation has begun to read the log, and its consumer is behind.
    await fixture.automation({ initiators: on('other') })
    await fixture.post([{ event_name: 'go', customer_uid: user }])
    const { id } = await fixture.automation()
    await fixture.read()
    expect(await fixture.runs(id)).toEqual([])
  })

  test('is gone after its deletion; its runs are cancelled and stay readable, their list does not', async () => {
    const user = await fixture.user()
    const { id, url } = await fixture.automation()
    await fixture.post([{ event_name: 'go', customer_uid: user }])
    await fixture.read()
    const [run] = await fixture.runs(id)
    expect((await fixture.call('DELETE', url)).status).toBe(204)
    expect((await fixture.call('GET', url)).status).toBe(404)
    expect((await fixture.call('GET', `${url}/runs`)).status).toBe(404)
    expect((await fixture.call('GET', run.url)).body).toMatchObject({ status: 'cancelled', reason: 'automation_deleted', due_at: null })
    await fixture.post([{ event_name: 'go', customer_uid: user }])
    await fixture.read()
    const { rows } = await api.pool.query('select count(*)::int from automation_runs where automation_id = $1', [id])
    expect(rows).toEqual([{ count: 1 }])
  })
})

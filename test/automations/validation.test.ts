import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type AutomationProject, automationProject, LONG, on } from './fixture.ts'

let api: TestApi
let fixture: AutomationProject
beforeAll(async () => {
  api = await startApi()
  fixture = await automationProject(api)
})
afterAll(() => api.stop())

const send = (data: object) => fixture.call('POST', '/v4/automations', { body: { name: 'A', status: 'inactive', data } })
const withStep = (step: object) => ({ initiators: on('go'), steps: [{ id: 'x', ...step }] })
const nested = (levels: number): object[] => [
  { id: `l${levels}`, type: 'branch', conditions: [], ...(levels > 1 && { then: nested(levels - 1) }) },
]
const delays = (count: number) => Array.from({ length: count }, (_, n) => ({ id: `d${n}`, type: 'delay', duration: 'PT1S' }))

describe('an automation without initiators', () => {
  const empty = { type: 'event', platform: null, initiators: [], actions: {}, segments: null, reentry: true }

  test.each<[string, object, object]>([
    ['data: {}', {}, empty],
    ['an empty list', { initiators: [] }, empty],
    ['actions and none', { actions: { event: 1 }, platform: 'iOS' }, { ...empty, platform: 'iOS' }],
    ['steps only', { steps: LONG, reentry: false }, { ...empty, steps: LONG, reentry: false }],
  ])('is taken in every status and starts nothing: %s', async (_name, data, shown) => {
    const ids: string[] = []
    for (const status of ['active', 'inactive', 'paused']) {
      const made = await fixture.call('POST', '/v4/automations', { body: { name: 'A', status, data } })
      expect([made.status, made.body.data, made.body.status]).toEqual([201, shown, status])
      const put = await fixture.call('PUT', made.body.url, { body: { name: 'B', status, data: made.body.data } })
      expect([put.status, put.body.data, put.body.version]).toEqual([200, shown, 1])
      ids.push(made.body.id)
    }
    await fixture.post([{ event_name: 'go' }, { event_name: 'trial_started' }])
    await fixture.read()
    for (const id of ids) expect(await fixture.runs(id)).toEqual([])
  })

  test('stops what started before, takes initiators later, and is backtested', async () => {
    const made = await fixture.automation({ initiators: on('first') })
    const put = (data: object) => fixture.call('PUT', made.url, { body: { name: 'A', status: 'active', data } })
    expect((await put({})).body).toMatchObject({ version: 2, data: { initiators: [] } })
    const window = { from: '2026-01-01T00:00:00Z', to: '2026-12-01T00:00:00Z' }
    const tested = await fixture.call('POST', `${made.url}/backtest`, { body: window })
    expect([tested.status, tested.body]).toMatchObject([200, { events: 0, runs_started: 0 }])
    await fixture.post([{ event_name: 'first' }])
    await put({ initiators: on('first'), steps: LONG })
    await fixture.read()
    expect(await fixture.runs(made.id)).toEqual([])
    await fixture.post([{ event_name: 'first' }])
    await fixture.read()
    expect(await fixture.runs(made.id)).toHaveLength(1)
  })
})

describe('invalid data is refused', () => {
  test.each<[field: string, data: object]>([
    ['data.colour', { initiators: on('go'), steps: LONG, colour: 1 }],
    ['data.initiators', { initiators: on(...Array.from({ length: 21 }, (_, n) => `go-${n}`)), steps: LONG }],
    ['data.initiators', { initiators: null, steps: LONG }],
    ['data.initiators[1].uid', { initiators: on('go', '99999'), steps: LONG }],
    ['data.initiators[0].uid', { initiators: on('Go'), steps: LONG }],
    ['data.initiators[0].type', { initiators: [{ uid: 'go', type: 'page' }], steps: LONG }],
    ['data.actions', { initiators: on('go') }],
    ['data.actions', { initiators: on('go'), actions: { event: {} } }],
    ['data.actions.email', { initiators: on('go'), actions: { email: 'x' } }],
    ['data.steps', { initiators: on('go'), steps: [] }],
    ['data.steps[0].type', withStep({ type: 'dance' })],
    ['data.steps[0].type', withStep({})],
    ['data.steps[0].colour', withStep({ type: 'exit', colour: 1 })],
    ['data.steps[0].id', { initiators: on('go'), steps: [{ id: 'a b', type: 'exit' }] }],
    ['data.steps[0].duration', withStep({ type: 'delay', duration: 'PT0S' })],
    ['data.steps[0].duration', withStep({ type: 'delay', duration: 'P13M' })],
    ['data.steps[0].duration', withStep({ type: 'delay', duration: 'P1Y1D' })],
    ['data.steps[0].duration', withStep({ type: 'delay', duration: '2 days' })],
    ['data.steps[0].time', withStep({ type: 'wait_until', time: '24:00', timezone: 'UTC' })],
    ['data.steps[0].timezone', withStep({ type: 'wait_until', time: '09:00', timezone: 'Europe/Atlantis' })],
    ['data.steps[0].timezone', withStep({ type: 'wait_until', time: '09:00', timezone: '+02:00' })],
    ['data.steps[0].event', withStep({ type: 'wait_for_event', event: '99', timeout: 'P1D' })],
    ['data.steps[0].event[1]', withStep({ type: 'wait_for_event', event: ['8', '99'], timeout: 'P1D' })],
    ['data.steps[0].event', withStep({ type: 'wait_for_event', event: [], timeout: 'P1D' })],
    ['data.steps[0].event[1]', withStep({ type: 'wait_for_event', event: ['8', '8'], timeout: 'P1D' })],
    [
      'data.steps[0].event',
      withStep({ type: 'wait_for_event', event: Array.from({ length: 11 }, (_, n) => `custom_${n}`), timeout: 'P1D' }),
    ],
    ['data.steps[0].event', withStep({ type: 'wait_for_event', event: 8, timeout: 'P1D' })],
    [
      'data.steps[0].on_timeout[0].duration',
      withStep({ type: 'wait_for_event', event: '8', timeout: 'P1D', on_timeout: [{ id: 'y', type: 'delay' }] }),
    ],
    ['data.steps[0].duration', withStep({ type: 'grant_entitlement', entitlement_id: 'any', duration: 'PT59S' })],
    ['data.steps[0].duration', withStep({ type: 'grant_entitlement', entitlement_id: 'any', duration: 'P10Y1D' })],
    ['data.steps[0].key', withStep({ type: 'set_property', key: '_q_unknown', value: '' })],
    ['data.steps[0].value', withStep({ type: 'set_property', key: 'k', value: '"' })],
    [
      'data.steps[0].conditions[1].metric',
      withStep({
        type: 'branch',
        conditions: [
          { metric: 'step:x', comparator: 'eq', value: '' },
          { metric: 'step:nowhere', comparator: 'eq', value: '' },
        ],
      }),
    ],
    [
      'data.steps[0].conditions[1].metric',
      withStep({
        type: 'branch',
        conditions: [
          { metric: 'event:price', comparator: 'gt', value: '5' },
          { metric: 'mood', comparator: 'eq', value: '' },
        ],
      }),
    ],
    [
      'data.steps[0].conditions[2].value',
      withStep({
        type: 'branch',
        conditions: [
          { metric: 'event:price', comparator: 'gt', value: '5' },
          { metric: 'country', comparator: 'eq', value: 'DE' },
          { metric: 'segment', comparator: 'eq', value: 'seg_nowhere' },
        ],
      }),
    ],
    ['data.steps[1].id', { initiators: on('go'), steps: [...LONG, ...LONG] }],
    ['data.steps[0].then[0].then[0].then[0].then[0].then[0]', { initiators: on('go'), steps: nested(6) }],
    ['data.steps', { initiators: on('go'), steps: [...delays(49), ...nested(2)] }],
    ['data.frequency.per', { initiators: on('go'), steps: LONG, frequency: { max_runs_per_user: 1, per: 'year' } }],
    ['data.frequency.max_runs_per_user', { initiators: on('go'), steps: LONG, frequency: { max_runs_per_user: 0, per: 'day' } }],
  ])('on %s: %j', async (field, data) => {
    const { status, body } = await send(data)
    expect([status, body.error.code]).toEqual([400, 'invalid_data'])
    expect(body.error.details.map((detail: { field: string }) => detail.field)).toContain(field)
  })
})

describe('valid data is accepted', () => {
  test.each<[string, object]>([
    ['with the maximum of steps and levels', { initiators: on('go'), steps: [...delays(45), ...nested(5)] }],
    [
      'with the longest waits',
      {
        initiators: on('go'),
        steps: [
          { id: 'a', type: 'delay', duration: 'P12M' },
          { id: 'b', type: 'delay', duration: 'P366D' },
        ],
      },
    ],
    ['for a system segment', { initiators: on('go'), steps: LONG, segments: 'never_paid' }],
    ['with uid, slug and custom slug of events', { initiators: on('20', 'trial_started', 'x.y-z_1'), steps: LONG }],
  ])('%s', async (_, data) => {
    expect((await send(data)).status).toBe(201)
  })
})

describe('a reference to a missing resource returns 404', () => {
  test.each<[field: string, data: object]>([
    ['data.actions.push', { initiators: on('go'), actions: { push: 'psh_nowhere' } }],
    ['data.actions.screen', { initiators: on('go'), actions: { screen: 'scr_nowhere' } }],
    ['data.segments', { initiators: on('go'), steps: LONG, segments: 'seg_nowhere' }],
    ['data.steps[0].push', withStep({ type: 'push', push: 'psh_nowhere' })],
    ['data.steps[0].screen', withStep({ type: 'screen', screen: 'scr_nowhere' })],
    ['data.steps[0].entitlement_id', withStep({ type: 'grant_entitlement', entitlement_id: 'nothing', duration: null })],
    ['data.steps[0].integration_id', withStep({ type: 'webhook', integration_id: 'int_nowhere' })],
    [
      'data.steps[0].else[0].screen',
      withStep({ type: 'branch', conditions: [], else: [{ id: 'y', type: 'screen', screen: 'scr_nowhere' }] }),
    ],
  ])('%s', async (field, data) => {
    const { status, body } = await send(data)
    expect([status, body.error.code]).toEqual([404, 'not_found'])
    expect(body.error.message).toContain(field)
  })
})

test('a webhook step must refer to an integration of the slug webhooks', async () => {
  const integration = async (slug: string, deleted: boolean) => {
    const id = `int_${slug}_${deleted}`
    await api.pool.query(
      `insert into integrations (environment, id, slug, title, target_platform, created_at, updated_at, deleted_at)
       values ($1, $2, $3, 'I', 'all', now(), now(), case when $4 then now() end)`,
      [fixture.environment, id, slug, deleted],
    )
    return send(withStep({ type: 'webhook', integration_id: id }))
  }
  expect((await integration('webhooks', false)).status).toBe(201)
  expect((await integration('webhooks', true)).status).toBe(404)
  const other = await integration('amplitude', false)
  expect([other.status, other.body.error.details[0].field]).toEqual([400, 'data.steps[0].integration_id'])
})

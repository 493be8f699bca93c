// What a refusal says about a value: the rule and an example, never a regular expression.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { on } from '../automations/fixture.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { item } from '../harness/events.ts'
import { reportTo } from '../harness/reports.ts'
import { storedIntegration } from '../harness/stored-integration.ts'

let api: TestApi
let hook: string
beforeAll(async () => {
  api = await startApi()
  hook = await storedIntegration(api.pool, api.project.sandboxEnvironment, { slug: 'webhooks' })
})
afterAll(() => api.stop())

const automation = (data: object) => ({ name: 'A', status: 'inactive', data: { initiators: on('go'), ...data } })
const segment = (metric: string, value: string) => ({ name: 'S', conditions: [{ metric, comparator: 'eq', value }] })

test.each<[field: string, method: string, path: () => string, body: object]>([
  ['identity_id', 'POST', () => '/v4/identities', { identity_id: 'a b' }],
  ['product_ids[1]', 'POST', () => '/v4/offerings', { id: 'x', product_ids: ['a', 'ü'] }],
  ['proxy_url', 'PATCH', () => '/v4/project-settings', { proxy_url: 'https://[' }],
  ['by', 'POST', () => '/v4/test-clock/advance', { by: '3 days' }],
  ['timezone', 'POST', () => '/v4/scheduled-reports', reportTo(['x'], { timezone: 'Mars' })],
  ['send_at', 'POST', () => '/v4/scheduled-reports', reportTo(['x'], { send_at: '9:15' })],
  [
    'data.initiators[1].uid',
    'POST',
    () => '/v4/automations',
    automation({ initiators: on('go', '99'), steps: [{ id: 'x', type: 'exit' }] }),
  ],
  [
    'data.steps[0].timezone',
    'POST',
    () => '/v4/automations',
    automation({ steps: [{ id: 'w', type: 'wait_until', time: '09:00', timezone: '+02:00' }] }),
  ],
  ['conditions[0].metric', 'POST', () => '/v4/segments', segment('mood', 'good')],
  ['conditions[0].value', 'POST', () => '/v4/segments', segment('purchases_count', 'many')],
  ['conditions[0].value', 'POST', () => '/v4/segments', segment('last_seen', 'yesterday')],
  ['conditions[0].value', 'POST', () => '/v4/segments', segment('country', 'DEU')],
  ['settings.url', 'PUT', () => `/v4/integrations/${hook}/config`, { settings: { url: 'ftp://example.org' } }],
  ['settings.signing_secret', 'PUT', () => `/v4/integrations/${hook}/config`, { settings: { signing_secret: 'x' } }],
  ['events[0]', 'PUT', () => `/v4/integrations/${hook}/config`, { settings: {}, events: ['99'] }],
])('%s', async (field, method, path, body) => {
  const answer = await api.call(method, path(), { key: api.project.sandbox, body })
  const { message, details } = answer.body.error
  expect([answer.status, details.map((detail: { field: string }) => detail.field)]).toEqual([400, [field]])
  expect(details[0].message).toMatch(/^must be .* such as \S/)
  expect(details[0].message).not.toMatch(/[[\]\\^$]/)
  expect(message).toBe(`${field} ${details[0].message}`)
})

test('items of a batch of events', async () => {
  const events = [item({ event_name: 'A' }), item({ currency: 'QQQ' })]
  const { body } = await api.call('POST', '/v4/events', { body: { events } })
  expect(body.error.details).toEqual([
    { field: 'events[0].event_name', message: expect.stringMatching(/ such as level_completed$/) },
    { field: 'events[1].currency', message: 'must be a currency code of ISO 4217 such as EUR' },
  ])
})

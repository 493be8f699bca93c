// What falls due next in the sandbox: what it says of each job, and that the clock executes just that.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { hook, must, sandbox } from '../harness/integrations.ts'
import { namedKey } from '../harness/named-keys.ts'
import { reportTo } from '../harness/reports.ts'

let api: TestApi
let call: ReturnType<typeof sandbox>
let ada: string
let integration: string
beforeAll(async () => {
  api = await startApi({ worker: true })
  call = sandbox(api)
  integration = (await hook({ call, config: { events: ['nothing'] } })).id
  const steps = [
    { id: 'pause', type: 'delay', duration: 'P1D' },
    { id: 'end', type: 'exit' },
  ]
  const data = { initiators: [{ uid: 'arrived', type: 'event' }], actions: {}, steps }
  await must(call, 'POST', '/v4/automations', { name: 'Welcome\nback', status: 'active', data })
  await must(call, 'POST', '/v4/products', { id: 'monthly', type: 'subscription', duration: 'P1M', apple_product_id: 'com.monthly' })
  ada = (await must(call, 'POST', '/v4/users', { environment: 'sandbox' })).id
  const { now } = await must(call, 'GET', '/v4/test-clock')
  await must(call, 'POST', `/v4/users/${ada}/purchases`, {
    ...{ currency: 'EUR', price: '9.99', purchased_at: now, expires_at: new Date(Date.parse(now) + 3 * 86_400_000).toISOString() },
    app_store_data: { transaction_id: 'T-1', original_transaction_id: 'T-1', product_id: 'com.monthly' },
  })
  await must(call, 'POST', '/v4/events', { events: [{ event_id: 'e1', event_name: 'arrived', customer_uid: ada, happened_at: now }] })
  await must(call, 'POST', '/v4/test-clock/advance', { by: 'PT1S' })
})
afterAll(() => api.stop())

type Due = {
  id: string
  at: string
  kind: string
  text: string
  reference: { kind: string; id: string } | null
  customer_uid: string | null
}
const due = async (query = ''): Promise<{ data: Due[]; has_more: boolean; next_cursor?: string }> =>
  must(call, 'GET', `/v4/test-clock/due${query}`)

test('it names runs, ends of subscriptions and slots of reports, the earliest first', async () => {
  const report = await must(call, 'POST', '/v4/scheduled-reports', reportTo([integration]))
  const { data } = await due('?limit=100')
  expect(data.map(({ at }) => at)).toEqual(data.map(({ at }) => at).toSorted())
  const run = data.find(({ kind }) => kind === 'automation_run')
  expect(run).toMatchObject({
    text: 'A run of "Welcome back" goes on at the step pause',
    customer_uid: ada,
    reference: { kind: 'automation_run' },
  })
  expect(data.find(({ kind }) => kind === 'subscription')).toMatchObject({ customer_uid: ada, reference: { kind: 'customer', id: ada } })
  expect(data.find(({ kind }) => kind === 'report_slot')).toMatchObject({ reference: { kind: 'scheduled_report', id: report.id } })
})

test('a key sees names and customers of the resources that its scopes name', async () => {
  const { key } = await namedKey(api, api.project, ['test_clock:read', 'customers:read'], { sandbox: true })
  const { data } = (await api.call('GET', '/v4/test-clock/due?limit=100', { key })).body as { data: Due[] }
  expect(data.find(({ kind }) => kind === 'automation_run')).toMatchObject({
    text: expect.stringMatching(/^A run of auto_\w+ goes on$/),
    customer_uid: null,
  })
  expect(data.find(({ kind }) => kind === 'subscription')).toMatchObject({ customer_uid: ada })
  const { key: least } = await namedKey(api, api.project, ['test_clock:read'], { sandbox: true })
  expect((await api.call('GET', '/v4/test-clock/due?limit=100', { key: least })).text).not.toContain(ada)
})

test('pages of one job have every job once', async () => {
  const all = (await due('?limit=100')).data
  const found: Due[] = []
  for (let cursor = ''; ; ) {
    const page = await due(`?limit=1${cursor}`)
    found.push(...page.data)
    if (!page.has_more) break
    cursor = `&starting_after=${page.next_cursor}`
  }
  expect(found).toEqual(all)
})

test('what was due is done when the clock stands there', async () => {
  const run = (await due()).data.find(({ kind }) => kind === 'automation_run')!
  const { drained } = await must(call, 'POST', '/v4/test-clock/advance', { to: new Date(Date.parse(run.at) + 1_000).toISOString() })
  expect(drained.automation_runs).toBe(1)
  expect((await due()).data.some(({ kind }) => kind === 'automation_run')).toBe(false)
})

test('production has none', async () => {
  expect((await api.call('GET', '/v4/test-clock/due')).body.error.code).toBe('control_forbidden')
})

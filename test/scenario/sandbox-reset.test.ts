import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { exportAll, storedFiles, WHOLE_YEAR } from '../harness/exports.ts'
import { advance, type Hook, hook, must, sandbox } from '../harness/integrations.ts'
import { reportTo } from '../harness/reports.ts'
import { until } from '../harness/until.ts'

let api: TestApi
let made: Hook
const call: ReturnType<typeof sandbox> = (...args) => sandbox(api)(...args)
beforeAll(async () => {
  api = await startApi({ worker: true })
  made = await hook({ call })
})
afterAll(async () => {
  await api.stop()
  await made.receiver.close()
})

const DAY_MS = 86_400_000
const time = (ms: number) => new Date(ms).toISOString()
const begin = async () => {
  const { id } = await must(call, 'POST', '/v4/users', { environment: 'sandbox' })
  return id as string
}
/** As a store's sandbox has it: a month passes in five minutes. */
const buy = (user: string, transaction: string, begins: number) =>
  must(call, 'POST', `/v4/users/${user}/purchases`, {
    price: '9.99',
    currency: 'USD',
    purchased_at: time(begins),
    expires_at: time(begins + 300_000),
    app_store_data: { transaction_id: transaction, original_transaction_id: transaction, product_id: 'com.example.monthly' },
  })
const statusOf = async (user: string) => (await must(call, 'GET', `/v4/customers/${user}`)).data.customer.status
const clock = () => call('GET', '/v4/test-clock')
const reset = async () => {
  expect(await call('POST', '/v4/test-clock/reset')).toMatchObject({ status: 202, body: { message: 'Reset queued' } })
  await until('the sandbox is empty', async () => ((await clock()).body.resetting ? undefined : true), 20_000)
}
const sales = async () => {
  const to = Math.floor(Date.now() / 1000)
  const query = `from=${to - 40 * 86_400}&to=${to + 40 * 86_400}&unit=month`
  return (await must(call, 'GET', `/v4/analytics/charts/sales?${query}`)).series[0].total
}

test('after an emulated month a sandbox begins anew, and a real purchase of its store is active', async () => {
  await must(call, 'POST', '/v4/products', {
    id: 'monthly',
    type: 'subscription',
    duration: 'P1M',
    apple_product_id: 'com.example.monthly',
  })
  const automation = await must(call, 'POST', '/v4/automations', {
    name: 'Paid',
    status: 'active',
    data: {
      initiators: [{ uid: 'subscription_started', type: 'event' }],
      actions: {},
      steps: [{ id: 'later', type: 'delay', duration: 'P60D' }],
    },
  })
  const report = await must(call, 'POST', '/v4/scheduled-reports', reportTo([made.id]))
  const former = await begin()
  await buy(former, 't-1', Date.now())
  await until('a run', async () => (await must(call, 'GET', `/v4/automations/${automation.id}/runs`)).data.length || undefined)
  await advance(call, 'P27D')
  const { object: file } = await exportAll(api, WHOLE_YEAR, api.project.sandbox)
  expect(await storedFiles(api.files)).not.toEqual([])
  expect((await call('GET', '/v4/events')).headers.get('x-clock')).toMatch(/^\d{4}-.*Z$/)
  const late = await begin()
  await buy(late, 't-2', Date.now())
  expect(await statusOf(late)).not.toBe('active')
  expect(await sales()).toBeCloseTo(2 * 9.99)

  await reset()
  const { body, headers } = await clock()
  expect(Math.abs(Date.parse(body.now) - Date.now())).toBeLessThan(60_000)
  expect([body.offset_seconds, headers.get('x-clock')]).toEqual([0, null])
  expect((await call('GET', `/v4/customers/${former}`)).status).toBe(404)
  expect([(await call('GET', file.url)).status, (await fetch(file.file_url)).status]).toEqual([404, 404])
  for (const path of ['customers', 'events', `automations/${automation.id}/runs`, `integrations/${made.id}/deliveries`])
    expect([path, (await must(call, 'GET', `/v4/${path}`)).data]).toEqual([path, []])
  expect((await must(call, 'GET', '/v4/ledger')).data.map(({ promised }: { promised: number }) => promised)).toEqual([0, 0, 0, 0])
  expect(await sales()).toBe(0)
  expect(await must(call, 'GET', `/v4/automations/${automation.id}`)).toMatchObject({ status: 'active' })
  const slots = await api.pool.query('select next_slot from scheduled_reports where id = $1', [report.id])
  expect(Date.parse(slots.rows[0].next_slot) - Date.now()).toBeLessThanOrEqual(DAY_MS)

  const user = await begin()
  await buy(user, 't-1', Date.now())
  expect(await statusOf(user)).toBe('active')
  await until('the event is delivered', async () => (await made.deliveries()).some(one => one.status === 'delivered') || undefined)
  await until('its run', async () => (await must(call, 'GET', `/v4/automations/${automation.id}/runs`)).data.length === 1 || undefined)
  await advance(call, 'PT2M')
  expect(await storedFiles(api.files)).toEqual([])
})

test('production and the sandboxes of others have no such header, and stay as they are', async () => {
  const other = await api.newProject()
  const { id } = (await api.call('POST', '/v4/users', { key: other.sandbox, body: { environment: 'sandbox' } })).body
  const mine = (await api.call('POST', '/v4/users', { body: { environment: 'prod' } })).body.id
  await api.call('POST', '/v4/test-clock/advance', { key: other.sandbox, body: { by: 'P1D' } })
  await reset()
  expect((await api.call('GET', `/v4/users/${id}`, { key: other.sandbox })).headers.get('x-clock')).not.toBeNull()
  const { status, headers } = await api.call('GET', `/v4/users/${mine}`)
  expect([status, headers.get('x-clock')]).toEqual([200, null])
  expect((await api.call('POST', '/v4/test-clock/reset')).body.error.code).toBe('control_forbidden')
})

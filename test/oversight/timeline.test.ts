// The story of one customer through the API: what each entry says, and who may read it.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { item } from '../harness/events.ts'
import { hook, must, sandbox } from '../harness/integrations.ts'
import { namedKey } from '../harness/named-keys.ts'

let api: TestApi
let call: ReturnType<typeof sandbox>
beforeAll(async () => {
  api = await startApi({ worker: true })
  call = sandbox(api)
})
afterAll(() => api.stop())

const advance = (by: string) => must(call, 'POST', '/v4/test-clock/advance', { by })
type Entry = { kind: string; at: string; id: string; url: string; action?: string } & Record<string, unknown>
const timeline = async (user: string, query = ''): Promise<Entry[]> =>
  (await must(call, 'GET', `/v4/customers/${user}/timeline?limit=100${query}`)).data
const ofKind = (entries: Entry[], kind: string) => entries.filter(entry => entry.kind === kind)

test('a customer has one story: everything that happened, newest first', { timeout: 120_000 }, async () => {
  const webhook = await hook({ call, config: { events: ['*', 'subscription_started', 'subscription_refunded'] } })
  await must(call, 'POST', '/v4/products', { id: 'monthly', type: 'subscription', duration: 'P1M', apple_product_id: 'com.monthly' })
  await must(call, 'POST', '/v4/entitlements', { id: 'premium', product_ids: [] })
  await must(call, 'POST', '/v4/entitlements', { id: 'extra', product_ids: [] })
  const screen = await must(call, 'POST', '/v4/screens', { name: 'Offer' })
  const steps = [
    { id: 'give', type: 'grant_entitlement', entitlement_id: 'extra', duration: 'P1D' },
    { id: 'show', type: 'screen', screen: screen.id },
  ]
  const automation = await must(call, 'POST', '/v4/automations', {
    name: 'Welcome',
    status: 'active',
    data: { initiators: [{ uid: 'arrived', type: 'event' }], actions: {}, steps },
  })
  const { id: user } = await must(call, 'POST', '/v4/users', { environment: 'sandbox' })
  const { now } = await must(call, 'GET', '/v4/test-clock')
  const purchase = await must(call, 'POST', `/v4/users/${user}/purchases`, {
    ...{ currency: 'EUR', price: '9.99', purchased_at: now },
    app_store_data: { transaction_id: '1', product_id: 'com.monthly' },
  })
  const arrived = { ...item({ event_name: 'arrived', customer_uid: user }), price: undefined, currency: undefined, happened_at: now }
  await must(call, 'POST', '/v4/events', { events: [arrived] })
  await advance('PT1H')
  await must(call, 'PATCH', `/v4/users/${user}/purchases/${purchase.id}`, { refunded_at: now, refunded_amount: '4.99' })
  await must(call, 'POST', `/v4/customers/${user}/permissions`, { permission_id: 'premium', expires_at: null })
  await advance('PT1M')
  expect((await call('DELETE', `/v4/customers/${user}/permissions/premium`)).status).toBe(204)
  await advance('P2D')

  const all = await timeline(user)
  expect(all.map(({ at }) => at)).toEqual(
    all
      .map(({ at }) => at)
      .sort()
      .reverse(),
  )

  expect(ofKind(all, 'purchase').map(({ action, id, amount, currency, product_id }) => [action, id, amount, currency, product_id])).toEqual(
    expect.arrayContaining([
      ['payment', purchase.id, '9.99', 'EUR', 'com.monthly'],
      ['refund', purchase.id, '4.99', 'EUR', 'com.monthly'],
    ]),
  )
  const access = ofKind(all, 'access').map(({ action, entitlement_id, actor }) => [
    action,
    entitlement_id,
    (actor as { kind: string } | null)?.kind,
  ])
  expect(access).toEqual([
    ['expired', 'extra', undefined],
    ['taken', 'premium', 'secret_key'],
    ['granted', 'premium', 'secret_key'],
    ['granted', 'extra', 'system'],
  ])
  const [run] = ofKind(all, 'automation_run')
  expect(run).toMatchObject({
    automation_id: automation.id,
    automation_name: 'Welcome',
    status: 'succeeded',
    event_name: 'arrived',
    replay_of: null,
  })
  expect(ofKind(all, 'access')[3]!.actor).toEqual({ kind: 'system', id: run!.id })
  expect((await must(call, 'GET', run!.url)).id).toBe(run!.id)
  const deliveries = ofKind(all, 'delivery')
  expect(deliveries.map(({ event_name }) => event_name).sort()).toEqual(
    ofKind(all, 'event')
      .map(({ event_name }) => event_name)
      .sort(),
  )
  expect(deliveries[0]).toMatchObject({ integration_id: webhook.id, status: 'delivered', attempt_count: 1, source: 'event' })
  expect(ofKind(all, 'screen')).toMatchObject([{ screen_id: screen.id, screen_name: 'Offer', run_id: run!.id, shown_at: null }])
  const event = ofKind(all, 'event').find(({ event_name }) => event_name === 'subscription_started')!
  expect(event).toMatchObject({ title: 'Subscription Started', price: '9.99', currency: 'EUR', product_id: 'com.monthly' })
  expect((await must(call, 'GET', event.url)).id).toBe(event.id)
  expect(ofKind(all, 'change').map(({ operation }) => operation)).toEqual(
    expect.arrayContaining(['v4CreateUser', 'v4CreatePurchase', 'v4UpdateUserPurchase']),
  )
  expect(ofKind(all, 'change').filter(({ resource }) => String(resource).endsWith('permission'))).toEqual([])

  const some = await timeline(user, '&kinds%5B%5D=purchase&kinds%5B%5D=access')
  expect(some).toEqual(all.filter(({ kind }) => kind === 'purchase' || kind === 'access'))

  // A held delivery says so, a name that is gone is null, and an erased customer has no story.
  await must(call, 'POST', `/v4/integrations/${webhook.id}/status`, { status: 0 })
  await call('DELETE', `/v4/automations/${automation.id}`)
  expect(ofKind(await timeline(user), 'automation_run')[0]).toMatchObject({ automation_id: automation.id, automation_name: null })
  expect((await call('DELETE', `/v4/customers/${user}`)).status).toBe(204)
  expect((await call('GET', `/v4/customers/${user}/timeline`)).status).toBe(404)
  await webhook.receiver.close()
})

test('a group of an experiment stands with the names of both', async () => {
  const experiment = await must(call, 'POST', '/v4/experiments', { name: 'Price', alias_id: 'price' })
  const group = await must(call, 'POST', `/v4/experiments/${experiment.id}/groups`, { name: 'High', weight: 50 })
  const { id: user } = await must(call, 'POST', '/v4/users', { environment: 'sandbox' })
  await must(call, 'POST', `/v4/experiments/${experiment.id}/users/${user}`, { group_id: group.id })
  expect(await timeline(user, '&kinds%5B%5D=experiment')).toMatchObject([
    { kind: 'experiment', id: experiment.id, experiment_name: 'Price', group_id: group.id, group_name: 'High', pinned: true },
  ])
})

test('a key sees the kinds whose resource it may read; to ask for another one is 403', async () => {
  const { id: user } = await must(call, 'POST', '/v4/users', { environment: 'sandbox' })
  const { key } = await namedKey(api, api.project, ['customers:read', 'purchases:read', 'events:read'], { sandbox: true })
  const read = (query: string) => api.call('GET', `/v4/customers/${user}/timeline${query}`, { key })
  expect((await read('')).body).toEqual({
    ...{ object: 'list', url: `/v4/customers/${user}/timeline`, kinds: ['event', 'purchase'], data: [], has_more: false },
  })
  expect((await api.call('GET', `/v4/customers/${user}/timeline`, { key: api.project.sandbox })).body.data).toMatchObject([
    { kind: 'change' },
  ])
  const refused = await read('?kinds%5B%5D=event&kinds%5B%5D=change')
  expect([refused.status, refused.body.error]).toEqual([
    403,
    expect.objectContaining({ code: 'control_forbidden', message: expect.stringContaining('audit_log:read') }),
  ])
  expect((await read('?kinds%5B%5D=secret')).status).toBe(400)
})

test('pages by cursor; another environment, and an id of nobody, are 404', async () => {
  const { id: user } = await must(call, 'POST', '/v4/users', { environment: 'sandbox' })
  const opened = (n: number) => ({
    ...item({ event_name: 'opened', customer_uid: user, event_id: `${user}-${n}` }),
    price: undefined,
    currency: undefined,
  })
  await must(call, 'POST', '/v4/events', { trigger: false, events: [1, 2, 3, 4, 5].map(opened) })
  const page = (query: string) => call('GET', `/v4/customers/${user}/timeline?kinds%5B%5D=event&limit=2${query}`)
  const first = await page('')
  const second = await page(`&starting_after=${first.body.next_cursor}`)
  const third = await page(`&starting_after=${second.body.next_cursor}`)
  const ids = [first, second, third].flatMap(({ body }) => body.data.map(({ id }: Entry) => id))
  expect([new Set(ids).size, third.body.has_more, 'next_cursor' in third.body]).toEqual([5, false, false])
  expect((await page('&starting_after=evt_1')).headers.get('x-qon-pagination-restarted')).toBe('true')
  expect((await api.call('GET', `/v4/customers/${user}/timeline`, { key: api.project.secret })).status).toBe(404)
  expect((await call('GET', '/v4/customers/nobody/timeline')).status).toBe(404)
})

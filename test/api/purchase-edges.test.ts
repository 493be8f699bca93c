import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { product, purchaseOf, userOf } from '../harness/purchases.ts'

let api: TestApi
let key: string
beforeAll(async () => {
  api = await startApi()
  key = api.project.sandbox
  for (const of of [api.project.secret, key]) {
    await product(api, { id: 'monthly', apple_product_id: 'm', google_product_id: 'g' }, of)
    await product(api, { id: 'annual', duration: 'P1Y', apple_product_id: 'y' }, of)
    await api.call('POST', '/v4/entitlements', { key: of, body: { id: 'pro', product_ids: ['monthly', 'annual'] } })
  }
})
afterAll(() => api.stop())

const DAY = 86_400_000
const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`
const day = (n: number) => iso(Date.now() + n * DAY)
const apple = (transaction_id: string, original_transaction_id: string, product_id = 'm') => ({
  app_store_data: { transaction_id, original_transaction_id, product_id },
})
const recordedEvents = async (user: string) => {
  const { rows } = await api.pool.query<{ name: string; happened_at: string; proceeds: string | null }>(
    'select name, happened_at, proceeds::text from events where user_id = $1 order by log_offset',
    [user],
  )
  return rows
}
const names = async (user: string) => (await recordedEvents(user)).map(({ name }) => name)
const entitlementOf = async (user: string) => (await api.call('GET', `/v4/users/${user}/entitlements`)).body.data[0]

const clock = async () => Date.parse((await api.call('GET', '/v4/test-clock', { key })).body.now)
/** Until history that was recorded before is emitted. */
const waitForQuiet = () => api.call('POST', '/v4/test-clock/advance', { key, body: { by: 'PT10M' } })

test('the still-active event of a trial that is recorded late is dated when it is emitted, and the end event at its end', async () => {
  const user = await userOf(api, key)
  const expires_at = day(-3)
  await purchaseOf(api, user, { price: '0', purchased_at: day(-10), expires_at, ...apple('late', 'late') }, key)
  await waitForQuiet()
  const events = await recordedEvents(user)
  const still = events.find(({ name }) => name === 'trial_still_active')!
  expect(Math.abs(Date.parse(still.happened_at) - (await clock()))).toBeLessThan(60_000)
  expect(events.find(({ name }) => name === 'trial_expired')!.happened_at).toBe(expires_at)
})

test('a trial whose auto-renew was off after two days has no still-active event, even when it is switched on again', async () => {
  const now = await clock()
  const trial = async (name: string, offset: number) => {
    const user = await userOf(api, key)
    const times = { purchased_at: iso(now + offset * DAY), expires_at: iso(now + 14 * DAY) }
    return { user, made: await purchaseOf(api, user, { price: '0', ...times, ...apple(name, name) }, key) }
  }
  const [late, early] = [await trial('switched-late', 0), await trial('switched-early', 0)]
  const renew = (url: string, is_auto_renewing: boolean) => api.call('PATCH', url, { key, body: { is_auto_renewing } })
  await renew(late.made.body.url, false)
  await renew(early.made.body.url, false)
  await renew(early.made.body.url, true)
  await api.call('POST', '/v4/test-clock/advance', { key, body: { by: 'P3D' } })
  expect((await renew(late.made.body.url, true)).status).toBe(200)
  expect(await names(late.user)).toEqual(['trial_started', 'trial_canceled', 'trial_uncanceled'])
  expect(await names(early.user)).toEqual(['trial_started', 'trial_canceled', 'trial_uncanceled', 'trial_still_active'])
})

test('a pause and a planned product are emitted each time that they begin and end, once per fact, and show on the last period alone', async () => {
  const user = await userOf(api, key)
  const now = await clock()
  const period = (n: number, begins: number) =>
    purchaseOf(
      api,
      user,
      { purchased_at: iso(now + begins * DAY), expires_at: iso(now + (begins + 30) * DAY), ...apple(`paused-${n}`, 'paused') },
      key,
    )
  const { body: first } = await period(1, -1)
  expect(first).toMatchObject({ is_paused: false, planned_product_id: null })
  const state = (body: object, url = first.url) => api.call('PATCH', url, { key, body })
  const facts = [
    { is_paused: true, planned_product_id: 'y' },
    { is_paused: true, planned_product_id: 'y' },
    { is_paused: false, planned_product_id: null },
    { is_paused: true, planned_product_id: 'y' },
  ]
  for (const fact of facts) expect((await state(fact)).body).toMatchObject(fact)
  const { body: second } = await period(2, 0)
  expect(second).toMatchObject({ is_paused: false, planned_product_id: null })
  expect((await api.call('GET', first.url, { key })).body).toMatchObject({ is_paused: false, planned_product_id: null })
  const { rows } = await api.pool.query(
    `select name, old_product_id as old, new_product_id as new from events where user_id = $1 and name ~ 'paused|resumed|product_change_' order by log_offset`,
    [user],
  )
  const planned = { name: 'product_change_planned', old: 'm', new: 'y' }
  const paused = { name: 'subscription_paused', old: null, new: null }
  const resumed = { name: 'subscription_resumed', old: null, new: null }
  const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)
  expect(rows.sort(byName)).toEqual([planned, planned, { ...planned, name: 'product_change_withdrawn' }, paused, paused, resumed, resumed])

  expect((await state({ is_paused: true })).body.error).toMatchObject({ code: 'conflict' })
  expect((await state({ planned_product_id: 'm' }, second.url)).body.error.details).toEqual([
    { field: 'planned_product_id', message: 'must differ from product_id' },
  ])
  expect((await state({ planned_product_id: 'a/b' }, second.url)).body.error).toMatchObject({ code: 'invalid_product_id' })
})

test('of two periods with the same start the longer one is the last, whichever was recorded first', async () => {
  const purchased_at = day(-1)
  const shown = async (order: string[]) => {
    const user = await userOf(api)
    for (const product_id of order)
      expect((await purchaseOf(api, user, { purchased_at, ...apple(`${user}-${product_id}`, user, product_id) })).status).toBe(201)
    const { data } = (await api.call('GET', `/v4/users/${user}/purchases`)).body
    const renewing = data.filter((p: { is_auto_renewing: boolean }) => p.is_auto_renewing).map((p: { product_id: string }) => p.product_id)
    return [renewing, (await entitlementOf(user)).product.product_id, (await entitlementOf(user)).expires_at.slice(0, 10)]
  }
  const one = await shown(['m', 'y'])
  expect(one.slice(0, 2)).toEqual([['y'], 'annual'])
  expect(await shown(['y', 'm'])).toEqual(one)
})

test('a refund of a period after 365 paid days subtracts the same share of proceeds as the charge', async () => {
  const user = await userOf(api, key)
  await purchaseOf(api, user, { price: '100', purchased_at: day(-400), expires_at: day(-30), ...apple('loyal-1', 'loyal', 'y') }, key)
  await waitForQuiet()
  const made = await purchaseOf(api, user, { price: '10', purchased_at: day(-30), expires_at: day(9), ...apple('loyal-2', 'loyal') }, key)
  await api.call('PATCH', made.body.url, { key, body: { refunded_at: day(-1) } })
  const proceeds = (await recordedEvents(user)).filter(event => event.proceeds !== null).map(event => [event.name, Number(event.proceeds)])
  expect(proceeds).toEqual([
    ['subscription_started', 70],
    ['subscription_renewed', 8.5],
    ['subscription_refunded', -8.5],
  ])
})

test('billing retry at the end of time is recorded', async () => {
  const user = await userOf(api)
  const end = '9999-12-31T23:59:59Z'
  const made = await purchaseOf(api, user, { purchased_at: day(-1), expires_at: end, ...apple('end', 'end') })
  expect(made.status).toBe(201)
  expect((await api.call('PATCH', made.body.url, { body: { billing_retry_at: end } })).status).toBe(200)
  expect((await entitlementOf(user)).expires_at).toBe(end)
})

test('a granted grace period is a billing issue, even after auto-renew is switched off, until a full refund', async () => {
  const user = await userOf(api)
  const made = await purchaseOf(api, user, { purchased_at: day(-31), expires_at: day(-1), ...apple('grace', 'grace') })
  const patch = (body: object) => api.call('PATCH', made.body.url, { body })
  const renewState = async () => (await entitlementOf(user)).product.subscription.renew_state
  await patch({ billing_retry_at: day(-1), grace_period_expires_at: day(5) })
  expect([await renewState(), (await entitlementOf(user)).is_active]).toEqual(['billing_issue', true])
  await patch({ is_auto_renewing: false })
  expect(await renewState()).toBe('billing_issue')
  await patch({ refunded_at: day(-2) })
  expect([await renewState(), (await entitlementOf(user)).is_active]).toEqual(['canceled', false])
})

test('a repeated refund in another notation changes nothing', async () => {
  const user = await userOf(api)
  const made = await purchaseOf(api, user, { price: '000.100', purchased_at: day(-1), ...apple('notation', 'notation') })
  expect(made.body.price).toBe('000.100')
  await api.call('PATCH', made.body.url, { body: { refunded_at: day(-1) } })
  const audited = () =>
    api.pool
      .query(`select count(*)::int as n from audit_log where resource = 'purchase' and user_id = $1`, [user])
      .then(({ rows }) => rows[0].n)
  const before = await audited()
  expect((await api.call('PATCH', made.body.url, { body: { refunded_amount: '0.1' } })).status).toBe(200)
  expect(await audited()).toBe(before)
})

test('the longest ids of the stores are accepted, longer product ids are malformed', async () => {
  const user = await userOf(api)
  const play = (purchase_token: string, product_id: string) =>
    purchaseOf(api, user, { purchased_at: day(-1), play_store_data: { purchase_token, product_id } })
  const made = await play('k'.repeat(16_384), 'g')
  expect(made.status).toBe(201)
  expect((await play('k'.repeat(16_384), 'g')).body.error.code).toBe('already_exists')
  await api.call('PATCH', made.body.url, { body: { is_auto_renewing: false } })
  expect(await names(user)).toEqual(['subscription_started', 'subscription_canceled'])
  expect((await play('other', 'g'.repeat(256))).body.error.code).toBe('invalid_product_id')
  expect((await api.call('GET', `/v4/users/${user}/purchases/9223372036854775807`)).status).toBe(404)
  expect((await api.call('GET', `/v4/users/${user}/purchases/9999999999999999999`)).status).toBe(404)
  const five = Array.from({ length: 5 }, () => 'filter[platform]=stripe').join('&')
  expect((await api.call('GET', `/v4/users/${user}/purchases?${five}`)).status).toBe(400)
})

test('after a posted trial the first recorded payment is a conversion, and only a posted event ends the trial', async () => {
  const user = await userOf(api)
  const transaction = { transaction_id: 'posted-trial', original_transaction_id: 'posted-line', expires_at: day(-3) }
  const event = {
    event_id: 'posted-trial',
    event_name: 'trial_started',
    customer_uid: user,
    happened_at: day(-10),
    platform: 'iOS',
    transaction,
  }
  expect((await api.call('POST', '/v4/events', { body: { events: [event] } })).body.created).toBe(1)
  await purchaseOf(api, user, { purchased_at: day(-3), ...apple('paid-1', 'posted-line') })
  expect(await names(user)).toEqual(['trial_started', 'trial_converted'])
})

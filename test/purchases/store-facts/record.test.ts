import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { product, purchaseOf, userOf } from '../../harness/purchases.ts'
import { appPeriod, appReport, day, noticeOf, playReport, record } from './reports.ts'

let api: TestApi
let production: number
beforeAll(async () => {
  api = await startApi()
  production = api.project.production
  await product(api, { id: 'monthly', apple_product_id: 'm', google_product_id: 'm' })
  await api.call('POST', '/v4/entitlements', { body: { id: 'pro', product_ids: ['monthly'] } })
})
afterAll(() => api.stop())

const purchasesOf = async (user: string) => (await api.call('GET', `/v4/users/${user}/purchases`)).body.data
const accessOf = async (user: string) =>
  (await api.call('GET', `/v4/users/${user}/entitlements`)).body.data.map((one: { is_active: boolean }) => one.is_active)
const eventsOf = async (user: string) =>
  (
    await api.pool.query<{ name: string; event_id: string; triggers: boolean }>(
      'select name, event_id, triggers from events where user_id = $1 order by happened_at, log_offset',
      [user],
    )
  ).rows
const namesOf = async (user: string) => (await eventsOf(user)).map(({ name }) => name)
const bought = (rest = {}) => appPeriod(day(-2), day(28), { isRenewal: false, ...rest })
const newSubscription = (lineage: string, accountId: string | null, rest = {}) =>
  appReport(lineage, [{ at: day(-2), transaction: lineage, reported: bought(rest), renewal: { autoRenews: true } }], { accountId })

describe('a lineage that a store tells of', () => {
  test('belongs to the user that the app named: by user id, by identity, and by the UUID that stands for a user id', async () => {
    const [byId, byUuid] = [await userOf(api), await userOf(api)]
    const identified = (await api.call('POST', '/v4/identities', { body: { identity_id: 'person-1' } })).body.user_id
    const hex = byUuid.slice('QON_'.length)
    const uuid = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-').toUpperCase()
    for (const [lineage, account, user] of [
      ['own-1', byId, byId],
      ['own-2', 'person-1', identified],
      ['own-3', uuid, byUuid],
    ] as const) {
      const [recorded] = await record(api.pool, production, [newSubscription(lineage, account)])
      expect(recorded).toMatchObject({ owner: user, isNewOwner: true, isConflict: false, unpriced: [], unmapped: [] })
      expect(await accessOf(user)).toEqual([true])
      expect(await namesOf(user)).toEqual(['subscription_started'])
      expect((await purchasesOf(user))[0]).toMatchObject({
        product_id: 'm',
        price: '9.99',
        is_auto_renewing: true,
        verified_at: expect.any(String),
        store_data: { transaction_id: lineage, original_transaction_id: lineage, product_id: 'm' },
      })
    }
  })

  test('an unknown account makes no user, and a user of the other environment is unknown', async () => {
    const before = await api.pool.query('select count(*)::int as n from users')
    const user = await userOf(api)
    const [unknown] = await record(api.pool, production, [newSubscription('nobody-1', 'QON_00000000000000000000000000000000')])
    const [sandbox] = await record(api.pool, api.project.sandboxEnvironment, [newSubscription('nobody-2', user)])
    expect([unknown!.owner, sandbox!.owner]).toEqual([null, null])
    expect((await api.pool.query('select count(*)::int as n from users')).rows[0].n).toBe(before.rows[0].n + 1)
    expect(await namesOf(user)).toEqual([])
  })

  test('is kept without user, and all is emitted once when the user is known', async () => {
    await record(api.pool, production, [newSubscription('later-1', 'person-2')])
    await record(api.pool, production, [appReport('later-1', [{ at: day(-1), transaction: 'later-1', renewal: { autoRenews: false } }])])
    expect(
      (await api.pool.query(`select user_id, count(*)::int as n from purchases where transaction_id = 'later-1' group by 1`)).rows,
    ).toEqual([{ user_id: null, n: 1 }])
    const user = (await api.call('POST', '/v4/identities', { body: { identity_id: 'person-2' } })).body.user_id
    expect(await namesOf(user)).toEqual(['subscription_started', 'subscription_canceled'])
    const [attached] = await record(api.pool, production, [newSubscription('later-1', 'person-2')])
    expect(attached).toMatchObject({ owner: user, isNewOwner: false })
    expect(await namesOf(user)).toEqual(['subscription_started', 'subscription_canceled'])
    expect((await eventsOf(user)).map(({ triggers }) => triggers)).toEqual([true, true])
  })

  test('a notification never moves it to another user', async () => {
    const [ann, ben] = [await userOf(api), await userOf(api)]
    await record(api.pool, production, [newSubscription('kept-1', ann)])
    const [again] = await record(api.pool, production, [newSubscription('kept-1', ben)])
    expect(again).toMatchObject({ owner: ann, isNewOwner: false })
    expect(await accessOf(ben)).toEqual([])
  })

  test('what is older than 72 hours starts nothing', async () => {
    const user = await userOf(api)
    const reported = appPeriod(day(-20), day(10), { isRenewal: false })
    await record(api.pool, production, [appReport('old-1', [{ at: day(-20), transaction: 'old-1', reported }], { accountId: user })])
    expect(await eventsOf(user)).toMatchObject([{ name: 'subscription_started', triggers: false }])
  })
})

describe('recording', () => {
  test('the same reports again change nothing and tell nothing', async () => {
    const user = await userOf(api)
    const off = appReport('again-1', [{ at: day(-1), transaction: 'again-1', renewal: { autoRenews: false } }])
    const reports = [newSubscription('again-1', user), off]
    const state = async () =>
      (await api.pool.query(`select p.*, l.* from purchases p join lineages l on l.id = p.lineage where p.transaction_id = 'again-1'`)).rows
    for (const report of reports) await record(api.pool, production, [report])
    const before = [await state(), await eventsOf(user)]
    await record(api.pool, production, reports)
    await record(api.pool, production, reports.toReversed())
    expect([await state(), await eventsOf(user)]).toEqual(before)
    expect(await eventsOf(user)).toMatchObject([
      { name: 'subscription_started', event_id: expect.stringMatching(/^~\d+:begin$/) },
      { name: 'subscription_canceled', event_id: expect.stringMatching(/^~\d+:subscription_canceled:1$/) },
    ])
  })

  test('what the caller reported counts where the store states nothing, and the caller can change nothing afterwards', async () => {
    const user = await userOf(api)
    const purchased_at = day(-2)
    const app_store_data = { transaction_id: 'mixed-1', product_id: 'm' }
    const made = await purchaseOf(api, user, {
      price: '4.50',
      currency: 'EUR',
      country: 'FR',
      purchased_at,
      app_store_data,
      screen_id: 's',
    })
    await api.call('PATCH', made.body.url, { body: { is_auto_renewing: false } })
    const reported = { product: 'm', isSubscription: true, begins: purchased_at, ends: day(40) }
    const [recorded] = await record(api.pool, production, [appReport('mixed-1', [{ at: day(-2), transaction: 'mixed-1', reported }])])
    expect(recorded!.purchases.get('mixed-1')).toBe(made.body.id)
    const [shown] = await purchasesOf(user)
    expect(shown).toMatchObject({
      price: '4.50',
      currency: 'EUR',
      country: 'FR',
      screen_id: 's',
      expires_at: reported.ends,
      is_auto_renewing: false,
    })
    expect((await api.call('PATCH', made.body.url, { body: { is_auto_renewing: true } })).body.error.code).toBe('conflict')
    expect(await namesOf(user)).toEqual(['subscription_started', 'subscription_canceled'])
    const on = { at: day(-1), transaction: 'mixed-1', renewal: { autoRenews: true } }
    await record(api.pool, production, [appReport('mixed-1', [on])])
    expect((await purchasesOf(user))[0].is_auto_renewing).toBe(true)
  })

  test('a caller who knows the period only names the same purchase as the store', async () => {
    const user = await userOf(api)
    const purchased_at = day(-1)
    const made = await purchaseOf(api, user, { purchased_at, play_store_data: { purchase_token: 'token-1', product_id: 'm' } })
    const reported = appPeriod(day(-2), day(28))
    const [recorded] = await record(api.pool, production, [playReport('token-1', [{ order: 'GPA.1', reported }])])
    expect(recorded!.purchases.get('GPA.1')).toBe(made.body.id)
    expect(await purchasesOf(user)).toMatchObject([{ store_data: { order_id: 'GPA.1' }, purchased_at: reported.begins }])
  })

  test('a price that nobody states is reported, and a product that no product links is emitted once', async () => {
    const user = await userOf(api)
    const reported = bought({ price: undefined, currency: undefined, product: 'unheard' })
    const report = appReport('odd-1', [{ at: day(-2), transaction: 'odd-1', reported }], { accountId: user })
    const [recorded] = await record(api.pool, production, [report])
    expect(recorded).toMatchObject({ unpriced: ['odd-1'], unmapped: ['unheard'] })
    await record(api.pool, production, [report])
    const events = (await eventsOf(user)).filter(({ name }) => name === 'unmapped_product')
    expect(events).toMatchObject([{ event_id: `~${recorded!.lineage}:unmapped:unheard` }])
    expect(await accessOf(user)).toEqual([])
    await product(api, { id: 'heard', apple_product_id: 'unheard' })
    await api.call('PATCH', '/v4/entitlements/pro', { body: { product_ids: ['monthly', 'heard'] } })
    expect(await accessOf(user)).toEqual([true])
    expect((await record(api.pool, production, [report]))[0]!.unmapped).toEqual([])
  })

  test('a subscription by the linked product lasts as long as the product says and never renews', async () => {
    const user = await userOf(api)
    const reported = { ...bought(), isSubscription: 'by_product' as const, ends: null, begins: '2026-01-31T00:00:00Z' }
    await record(api.pool, production, [appReport('prepaid-1', [{ at: day(-2), transaction: 'prepaid-1', reported }], { accountId: user })])
    expect(await purchasesOf(user)).toMatchObject([{ expires_at: '2026-02-28T00:00:00Z', is_auto_renewing: false }])
    expect(await namesOf(user)).not.toContain('subscription_canceled')
  })

  test('notices are events, once, also when the lineage gets its user later', async () => {
    const [user, other] = [await userOf(api), await userOf(api)]
    const notices = [noticeOf('refund_declined', 'notice-1', day(-1), 'noted-1')]
    const report = { ...newSubscription('noted-1', user), notices }
    await record(api.pool, production, [report])
    await record(api.pool, production, [report])
    expect((await eventsOf(user)).map(({ name, event_id }) => [name, event_id])).toContainEqual(['refund_declined', '~app_store:notice-1'])
    expect(await namesOf(user)).toHaveLength(2)
    await record(api.pool, production, [
      { ...newSubscription('noted-2', null), notices: [noticeOf('refund_consumption', 'notice-2', day(-1), null)] },
    ])
    await record(api.pool, production, [newSubscription('noted-2', other)])
    expect((await namesOf(other)).sort()).toEqual(['refund_consumption', 'subscription_started'])
  })

  test('what a family shares gives access and tells nothing', async () => {
    const user = await userOf(api)
    await record(api.pool, production, [newSubscription('family-1', user, { isFamilyShared: true })])
    expect(await accessOf(user)).toEqual([true])
    const refund = { at: day(-1), amount: null }
    const revoked = bought({ isFamilyShared: true, refund })
    await record(api.pool, production, [appReport('family-1', [{ at: day(-1), transaction: 'family-1', reported: revoked }])])
    expect(await accessOf(user)).toEqual([false])
    expect(await namesOf(user)).toEqual([])
  })

  test('repeated answers of the store are kept as the first and the last one', async () => {
    const reported = bought()
    for (const at of [day(-1), day(-0.5), day(-0.9), day(-0.2)])
      await record(api.pool, production, [appReport('asked-1', [{ at, transaction: 'asked-1', reported, origin: 'api' }])])
    const { rows } = await api.pool.query(
      `select s.stated_at from store_statements s join lineages l on l.id = s.lineage where l.lineage = 'asked-1' order by 1`,
    )
    expect(rows).toHaveLength(2)
  })
})

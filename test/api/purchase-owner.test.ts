import { afterAll, beforeAll, expect, test } from 'vitest'
import { foldUsersFirst } from '../../domain/analytics/folding/fold-batch.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { product, purchaseOf, userOf } from '../harness/purchases.ts'
import { tracesOf } from '../harness/traces.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
  await product(api, { id: 'monthly', apple_product_id: 'm' })
  await api.call('POST', '/v4/entitlements', { body: { id: 'pro', product_ids: ['monthly'] } })
})
afterAll(() => api.stop())

const day = (n: number) => `${new Date(Date.now() + n * 86_400_000).toISOString().slice(0, 19)}Z`
const policy = (name: string) => api.pool.query('update projects set transfer_policy = $2 where id = $1', [api.project.id, name])
const apple = (transaction_id: string, original_transaction_id?: string) => ({
  purchased_at: day(-1),
  app_store_data: { transaction_id, product_id: 'm', ...(original_transaction_id && { original_transaction_id }) },
})
const accessOf = async (user: string) =>
  (await api.call('GET', `/v4/users/${user}/entitlements`)).body.data.map((entitlement: { is_active: boolean }) => entitlement.is_active)
const figures = async (user: string) => {
  await foldUsersFirst(api.pool, api.project.production, [user])
  const { rows } = await api.pool.query('select status, payments_count, net_payments_usd::float8 as net from users where id = $1', [user])
  return rows[0]
}

test.each([
  ['keep', 409, [true], []],
  ['transfer', 201, [], [true]],
  ['share', 201, [true], [true]],
])('under %s a transaction that is restored without its original is the recorded one', async (name, status, first, second) => {
  await policy(name)
  const [ann, ben] = [await userOf(api), await userOf(api)]
  const made = await purchaseOf(api, ann, apple(`${name}-2`, `${name}-1`))
  expect(made.status).toBe(201)
  expect((await purchaseOf(api, ann, apple(`${name}-2`))).body.error.code).toBe('already_exists')
  const answer = await purchaseOf(api, ben, apple(`${name}-2`))
  expect(answer.status).toBe(status)
  if (status === 201) expect(answer.body.id).toBe(made.body.id)
  else expect(answer.body.error.code).toBe('conflict')
  expect([await accessOf(ann), await accessOf(ben)]).toEqual([first, second])
  const { rows } = await api.pool.query('select count(*)::int as n from lineages where lineage = $1', [`${name}-2`])
  expect(rows).toEqual([{ n: 0 }])
})

test('a transfer ends the shares of the lineage, and the former owner keeps the events that were emitted', async () => {
  const [ann, ben, cat] = [await userOf(api), await userOf(api), await userOf(api)]
  await policy('share')
  expect((await purchaseOf(api, ann, apple('moved-1'))).status).toBe(201)
  expect((await purchaseOf(api, ben, apple('moved-1'))).status).toBe(201)
  expect([await accessOf(ann), await accessOf(ben)]).toEqual([[true], [true]])
  await policy('transfer')
  expect((await purchaseOf(api, cat, apple('moved-1'))).status).toBe(201)
  expect([await accessOf(ann), await accessOf(ben), await accessOf(cat)]).toEqual([[], [], [true]])
  expect((await api.call('GET', `/v4/users/${ben}/purchases`)).body.data).toEqual([])
  const { rows } = await api.pool.query('select user_id, name from events where user_id = any($1)', [[ann, ben, cat]])
  expect(rows).toEqual([{ user_id: ann, name: 'subscription_started' }])
})

test('a transaction that is recorded in two lineages at once is one purchase of one user', async () => {
  await policy('keep')
  const users = await Promise.all([userOf(api), userOf(api)])
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => purchaseOf(api, users[i % 2]!, apple('both', `original-${i}`))))
  expect(answers.filter(answer => answer.status === 201)).toHaveLength(1)
  expect(new Set(answers.map(answer => answer.status))).toEqual(new Set([201, 409]))
})

test('a transaction that was posted about another user counts only for the user of the purchase', async () => {
  const [ann, ben] = [await userOf(api), await userOf(api)]
  const item = {
    event_id: 'posted-for-ann',
    event_name: 'subscription_started',
    customer_uid: ann,
    happened_at: day(-1),
    platform: 'iOS',
    price: '9.99',
    currency: 'USD',
    transaction: { transaction_id: 'posted', expires_at: day(20) },
  }
  expect((await api.call('POST', '/v4/events', { body: { events: [item] } })).body.created).toBe(1)
  expect(await figures(ann)).toEqual({ status: 'active', payments_count: 1, net: 9.99 })
  expect((await purchaseOf(api, ben, apple('posted'))).status).toBe(201)
  expect(await figures(ann)).toEqual({ status: 'none', payments_count: 0, net: 0 })
  expect(await figures(ben)).toEqual({ status: 'active', payments_count: 1, net: 9.99 })
})

test('shares, transfers and renewals concurrent with the erasure of either user never fail and leave no traces', async () => {
  for (let round = 0; round < 6; round++) {
    await policy(round % 2 ? 'share' : 'transfer')
    const [ann, ben] = [await userOf(api), await userOf(api)]
    const lineages = [0, 1, 2, 3].map(i => `r${round}-${i}`)
    for (const lineage of lineages) expect((await purchaseOf(api, ann, apple(`${lineage}-a`, lineage))).status).toBe(201)
    const gone = round % 3 === 0 ? ann : ben
    const answers = await Promise.all([
      ...lineages.flatMap(lineage => [
        api.call('POST', `/v4/users/${ben}/purchases`, {
          body: { currency: 'USD', price: '1', ...apple(`${lineage}-a`, lineage) },
          headers: { 'Idempotency-Key': lineage },
        }),
        purchaseOf(api, ann, { ...apple(`${lineage}-b`, lineage), purchased_at: day(0) }),
        purchaseOf(api, ben, { ...apple(`${lineage}-c`, lineage), purchased_at: day(0) }),
      ]),
      api.call('DELETE', `/v4/customers/${gone}`),
    ])
    expect(answers.map(answer => answer.status).filter(status => ![201, 204, 404, 409].includes(status))).toEqual([])
    expect(await tracesOf(api.pool, gone)).toEqual([])
  }
})

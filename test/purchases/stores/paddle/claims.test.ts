import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { storeClaim } from '../../../../domain/purchases/claim.ts'
import { paddleId } from '../../../harness/stores/paddle.ts'
import { type PaddleFixture, paddleFixture } from '../../../harness/stores/paddle-fixture.ts'
import { paddleStory, paddleTransaction } from '../../../harness/stores/paddle-story.ts'

const START = Date.parse('2026-01-01T10:00:00Z')
const OTHER = { txn: paddleId('txn', START, 999_999), sub: paddleId('sub', START, 999_999) }
let fixture: PaddleFixture
const ids = { subscription: '', first: '', second: '', coins: '' }
beforeAll(async () => {
  fixture = await paddleFixture()
  const items = [
    { product: 'pro', price: '1000' },
    { product: 'extra', price: '300' },
    { product: 'setup', price: '50', isOnce: true },
  ]
  const { subscribe, renew, id, latest } = paddleStory(fixture.live, { items })
  subscribe(START)
  ids.first = latest().id
  renew()
  const coins = [{ product: 'coins', price: '1', isOnce: true }]
  Object.assign(ids, { subscription: id, second: latest().id, coins: paddleTransaction(fixture.live, START, coins).id })
})
afterAll(() => fixture.close())
beforeEach(() => {
  fixture.live.instead = () => undefined
  fixture.live.requests.length = 0
})

type Data = { transaction_id: string; product_id: string; type: 'subscription' | 'non_recurring'; subscription_id?: string }
const confirm = (data: Data) => fixture.paddle.confirm(storeClaim({ paddle_store_data: data })!, fixture.context)
const plan = (data: Partial<Data> = {}): Data => ({
  ...{ transaction_id: ids.first, product_id: 'pro', type: 'subscription', subscription_id: ids.subscription },
  ...data,
})
const single = (data: Partial<Data> = {}): Data => ({ transaction_id: ids.coins, product_id: 'coins', type: 'non_recurring', ...data })

test('a subscription, by each of its transactions and products, with the whole history', async () => {
  const common = { is: 'reports', environment: 'production' }
  expect(await confirm(plan())).toMatchObject({ ...common, lineage: ids.subscription, subject: ids.first })
  expect(await confirm(plan({ transaction_id: ids.second }))).toMatchObject({ ...common, subject: ids.second })
  const extra = { lineage: `${ids.subscription}:extra`, subject: `${ids.second}:extra` }
  expect(await confirm(plan({ transaction_id: ids.second, product_id: 'extra' }))).toMatchObject({ ...common, ...extra })
  const answer = await confirm(plan())
  expect(answer.is === 'reports' && answer.reports).toHaveLength(3)
})

test('a one-time purchase, also one that was billed with a subscription', async () => {
  expect(await confirm(single())).toMatchObject({ is: 'reports', lineage: ids.coins, subject: ids.coins })
  const setup = single({ transaction_id: ids.first, product_id: 'setup' })
  expect(await confirm(setup)).toMatchObject({ is: 'reports', lineage: `${ids.first}:setup`, subject: `${ids.first}:setup` })
})

test.each<[string, () => Data]>([
  ['another product', () => plan({ product_id: 'max' })],
  ['a product of another transaction', () => plan({ transaction_id: ids.second, product_id: 'setup' })],
  ['a transaction of somebody else', () => plan({ transaction_id: ids.coins })],
  ['a transaction that does not exist', () => plan({ transaction_id: OTHER.txn })],
  ['a subscription that does not exist', () => plan({ subscription_id: OTHER.sub })],
  ['a product charged once, as a subscription', () => plan({ product_id: 'setup' })],
  ['a subscription, as charged once', () => single({ transaction_id: ids.first, product_id: 'pro' })],
  ['another product, charged once', () => single({ product_id: 'gems' })],
  ['a one-time transaction that does not exist', () => single({ transaction_id: OTHER.txn })],
])('unknown: %s', async (_, data) => {
  const word = { code: 'http_404_not_found', message: 'not_found' }
  expect([
    { is: 'unknown', why: 'claim_differs' },
    { is: 'unknown', word },
  ]).toContainEqual(await confirm(data()))
})

test.each<[string, () => Data]>([
  ['a transaction', () => single({ transaction_id: 'txn_1' })],
  ['another kind of id', () => single({ transaction_id: ids.subscription })],
  ['a path', () => single({ transaction_id: `${OTHER.txn}/../../subscriptions` })],
  ['a subscription', () => plan({ subscription_id: 'sub_1' })],
])('malformed, unasked: %s', async (_, data) => {
  expect(await confirm(data())).toEqual({ is: 'unknown', why: 'malformed' })
  expect(fixture.live.requests).toEqual([])
})

test.each(['draft', 'ready', 'billed', 'past_due', 'canceled'])('a transaction that is %s is unknown', async status => {
  const before = fixture.live.transactions.get(ids.coins)!
  fixture.live.transactions.set(ids.coins, { ...before, status })
  expect(await confirm(single())).toEqual({ is: 'unknown', why: 'not_paid' })
  fixture.live.transactions.set(ids.coins, { ...before, status: 'paid' })
  expect(await confirm(single())).toMatchObject({ is: 'reports' })
  fixture.live.transactions.set(ids.coins, before)
})

test('what Paddle cannot answer is not unknown', async () => {
  for (const data of [plan(), single()]) {
    fixture.live.instead = () => ({ status: 503 })
    expect(await confirm(data)).toEqual({ is: 'later', why: 'http_503', afterMs: null })
    fixture.live.instead = () => ({ status: 429, headers: { 'retry-after': '30' } })
    expect(await confirm(data)).toEqual({ is: 'later', why: 'http_429', afterMs: 30_000 })
    fixture.live.instead = () => ({ status: 403 })
    expect(await confirm(data)).toEqual({ is: 'refused', why: 'http_403' })
  }
  const { id } = paddleTransaction(fixture.live, START, [{ product: 'coins', price: '1', isOnce: true }], { currency_code: 'XTS' })
  fixture.live.instead = () => undefined
  expect(await confirm(single({ transaction_id: id }))).toEqual({ is: 'later', why: 'currency_unknown', afterMs: null })
})

test('a claim of another store is a defect', async () => {
  const claim = storeClaim({ stripe_store_data: { subscription_id: 'sub_1', product_id: 'p' } })!
  await expect(fixture.paddle.confirm(claim, fixture.context)).rejects.toThrow('not a claim of Paddle')
})

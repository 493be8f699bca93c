import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { storeClaim } from '../../../../domain/purchases/claim.ts'
import { type PlayFixture, playFixture } from '../../../harness/stores/google-fixture.ts'
import { playStory } from '../../../harness/stores/google-story.ts'

const DAY = 86_400_000
const START = Date.parse('2026-01-01T10:00:00Z')
let fixture: PlayFixture
beforeAll(async () => {
  fixture = await playFixture()
  const { subscribe, renew } = playStory(fixture.google, { token: 'token-1', order: 'GPA.1' })
  subscribe(START)
  renew()
  fixture.google.oneTimes.set('coins', {
    orderId: 'GPA.5',
    purchaseCompletionTime: '2026-02-03T04:05:06Z',
    purchaseStateContext: { purchaseState: 'PURCHASED' },
    productLineItem: [{ productId: 'coins_100' }],
  })
})
afterAll(() => fixture.close())
beforeEach(() => {
  fixture.google.ordersForbidden = false
  fixture.google.requests.length = 0
})

type PlayData = { purchase_token: string; product_id: string; order_id?: string; base_plan_id?: string }
const confirm = (data: Partial<PlayData>) =>
  fixture.play.confirm(storeClaim({ play_store_data: { purchase_token: 'token-1', product_id: 'pro', ...data } })!, fixture.context)

test.each([
  ['the product: the latest period', {}, 'GPA.1..0'],
  ['the base plan', { base_plan_id: 'monthly' }, 'GPA.1..0'],
  ['an order', { order_id: 'GPA.1' }, 'GPA.1'],
  ['the latest order', { order_id: 'GPA.1..0', base_plan_id: 'monthly' }, 'GPA.1..0'],
])('confirmed by %s', async (_, data, subject) =>
  expect(await confirm(data)).toMatchObject({ is: 'reports', environment: 'production', lineage: 'token-1', subject }))

test.each([
  ['another product', { product_id: 'max' }, { why: 'claim_differs' }],
  ['another base plan', { base_plan_id: 'yearly' }, { why: 'claim_differs' }],
  ['an order of somebody else', { order_id: 'GPA.2' }, { why: 'claim_differs' }],
  ['an order that does not exist yet', { order_id: 'GPA.1..1' }, { why: 'claim_differs' }],
  ['another token', { purchase_token: 'nobody' }, { word: { code: 'http_404', message: 'NOT_FOUND' } }],
])('unknown: %s', async (_, data, why) => expect(await confirm(data)).toEqual({ is: 'unknown', ...why }))

test('a wrong order costs no more requests than a right one', async () => {
  await confirm({ order_id: 'GPA.2' })
  expect(fixture.google.calls()).toHaveLength(2)
})

test('a one-time purchase', async () => {
  expect(await confirm({ purchase_token: 'coins', product_id: 'coins_100', order_id: 'GPA.5' })).toMatchObject({
    is: 'reports',
    lineage: 'coins',
    subject: 'GPA.5',
  })
})

test('a purchase that is still pending is unknown', async () => {
  const { subscribe, answer } = playStory(fixture.google, { token: 'pending', order: 'GPA.3' })
  subscribe(START)
  answer().subscriptionState = 'SUBSCRIPTION_STATE_PENDING'
  expect(await confirm({ purchase_token: 'pending' })).toEqual({ is: 'unknown', why: 'not_paid' })
})

test('where orders cannot be read, an order of the chain is right', async () => {
  fixture.google.ordersForbidden = true
  expect(await confirm({ order_id: 'GPA.1..0' })).toMatchObject({ is: 'reports', subject: 'GPA.1' })
  expect(await confirm({ order_id: 'GPA.2' })).toEqual({ is: 'unknown', why: 'claim_differs' })
})

test('the older purchase of a lineage that is confirmed comes with it', async () => {
  const { subscribe } = playStory(fixture.google, { token: 'young', order: 'GPA.4', linkedToken: 'token-1' })
  subscribe(START + 60 * DAY)
  const answer = await confirm({ purchase_token: 'young', order_id: 'GPA.4' })
  expect(answer).toMatchObject({ is: 'reports', lineage: 'token-1', subject: 'GPA.4', reports: [{ aliases: ['young'] }] })
})

test('what Google cannot answer is not unknown', async () => {
  fixture.google.instead = () => ({ status: 503 })
  expect(await confirm({})).toEqual({ is: 'later', why: 'http_503', afterMs: null })
  fixture.google.instead = () => ({ status: 401 })
  expect(await confirm({})).toEqual({ is: 'refused', why: 'http_401' })
  fixture.google.instead = () => undefined
})

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { storeClaim } from '../../../../domain/purchases/claim.ts'
import { type StripeFixture, stripeFixture } from '../../../harness/stores/stripe-fixture.ts'
import { DAY_MS, stripeStory } from '../../../harness/stores/stripe-story.ts'
import type { VendorReply } from '../../../harness/vendor.ts'

const START = Date.parse('2026-01-01T10:00:00Z')
let fixture: StripeFixture
beforeAll(async () => {
  fixture = await stripeFixture()
  const items = [
    { id: 'si_1', product: 'prod_pro', amount: 1000 },
    { id: 'si_2', product: 'prod_seats', amount: 200, quantity: 3 },
  ]
  const one = stripeStory(fixture.server, { items })
  one.subscribe(START)
  one.renew()
  stripeStory(fixture.server, { id: 'sub_new' }).subscribe(START)
  for (const status of ['incomplete', 'incomplete_expired']) {
    const unpaid = stripeStory(fixture.server, { id: `sub_${status}` })
    unpaid.subscribe(START)
    unpaid.set({ status })
  }
  fixture.clock.now = START + 31 * DAY_MS
})
afterAll(() => fixture.close())
beforeEach(() => {
  fixture.server.instead = () => undefined
})

const confirm = (subscription_id: string, product_id: string, context = fixture.context) =>
  fixture.store.confirm(storeClaim({ stripe_store_data: { subscription_id, product_id } })!, context)

test('the latest period of the product, with the whole history', async () => {
  const answer = await confirm('sub_1', 'prod_pro')
  expect(answer).toMatchObject({ is: 'reports', environment: 'production', lineage: 'sub_1', subject: 'in_sub_1_2' })
  expect(answer.is === 'reports' && answer.reports.map(({ isWhole }) => isWhole)).toEqual([true, true])
})

test('a further item', async () =>
  expect(await confirm('sub_1', 'prod_seats')).toMatchObject({ lineage: 'sub_1:si_2', subject: 'in_sub_1_2:si_2' }))

test.each([
  ['another product', 'sub_1', 'prod_max', { why: 'claim_differs' }],
  ['a subscription that does not exist', 'sub_9', 'prod_pro', { word: { code: 'http_404_resource_missing', message: 'resource_missing' } }],
  ['what is no id', 'sub_1/../charges', 'prod_pro', { why: 'malformed' }],
  ['not paid yet', 'sub_incomplete', 'prod_pro', { why: 'not_paid' }],
  ['never paid', 'sub_incomplete_expired', 'prod_pro', { why: 'not_paid' }],
])('unknown: %s', async (_, subscription, product, why) => expect(await confirm(subscription, product)).toEqual({ is: 'unknown', ...why }))

test('unknown: a live subscription in the sandbox', async () =>
  expect(await confirm('sub_1', 'prod_pro', { ...fixture.context, environment: 'sandbox' })).toMatchObject({ is: 'unknown' }))

test('an item whose product was changed: the new product only, and until it is charged the period that was paid', async () => {
  const one = fixture.server.subscriptions.get('sub_new')!
  const [item] = one.items.data
  const changed = { ...item!, price: { ...item!.price, product: 'prod_max' } }
  fixture.server.subscriptions.set('sub_new', { ...one, items: { ...one.items, data: [changed] } })
  expect(await confirm('sub_new', 'prod_pro')).toEqual({ is: 'unknown', why: 'claim_differs' })
  expect(await confirm('sub_new', 'prod_max')).toMatchObject({ is: 'reports', lineage: 'sub_new', subject: 'in_sub_new_1' })
})

test('unknown: an item that was never charged', async () => {
  const one = fixture.server.subscriptions.get('sub_new')!
  const added = { ...one.items.data[0]!, id: 'si_added', price: { ...one.items.data[0]!.price, product: 'prod_added' } }
  fixture.server.subscriptions.set('sub_new', { ...one, items: { ...one.items, data: [...one.items.data, added] } })
  expect(await confirm('sub_new', 'prod_added')).toEqual({ is: 'unknown', why: 'not_paid' })
})

test.each<[string, VendorReply, object]>([
  ['overloaded', { status: 429, headers: { 'retry-after': '30' } }, { is: 'later', why: 'http_429', afterMs: 30_000 }],
  ['the key is not accepted', { status: 401 }, { is: 'refused', why: 'http_401' }],
])('%s', async (_, reply, answer) => {
  fixture.server.instead = () => reply
  expect(await confirm('sub_1', 'prod_pro')).toEqual(answer)
})

test('a claim of another store is a defect', async () => {
  const claim = storeClaim({ play_store_data: { purchase_token: 't', product_id: 'p' } })!
  await expect(fixture.store.confirm(claim, fixture.context)).rejects.toThrow('not a claim of Stripe')
})

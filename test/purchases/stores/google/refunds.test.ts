import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type PlayFixture, periodsOf, playFixture, reportsOf } from '../../../harness/stores/google-fixture.ts'
import { playStory, type StoryOptions } from '../../../harness/stores/google-story.ts'

const DAY = 86_400_000
const START = Date.parse('2026-01-01T10:00:00Z')
const ORDER = 'GPA.1111-2222-3333-44444'
let fixture: PlayFixture
beforeAll(async () => {
  fixture = await playFixture()
})
afterAll(() => fixture.close())
beforeEach(() => fixture.google.orders.clear())

let count = 0
function story(options: Partial<StoryOptions> = {}) {
  const created = playStory(fixture.google, { token: `refunded-${++count}`, ...options })
  created.subscribe(START)
  return created
}
const periods = async (token: string) =>
  reportsOf(await fixture.play.refresh(token, fixture.context)).flatMap(({ statements }) => periodsOf(statements))

test('all of an order', async () => {
  const { token, renew, refund } = story()
  renew()
  refund(START + 31 * DAY)
  expect(await periods(token)).toMatchObject([{ refund: null }, { refund: { at: '2026-02-01T10:00:00Z', amount: null } }])
})

test('parts of an order: their sum, at the time of the last one; what is not processed does not count', async () => {
  const { token, refund } = story()
  refund(START + DAY, '2.5')
  refund(START + 2 * DAY, '0.25')
  const pending = { createTime: '2026-01-05T00:00:00Z', state: 'PENDING', refundDetails: { total: { currencyCode: 'EUR', units: '3' } } }
  fixture.google.orders.get(ORDER)!.orderHistory!.partialRefundEvents!.push(pending)
  expect(await periods(token)).toMatchObject([{ refund: { at: '2026-01-03T10:00:00Z', amount: '2.75' } }])
})

test('a full refund counts more than the parts before it', async () => {
  const { token, refund } = story()
  refund(START + DAY, '2.5')
  refund(START + 2 * DAY)
  expect(await periods(token)).toMatchObject([{ refund: { at: '2026-01-03T10:00:00Z', amount: null } }])
})

test('revoked: the order has the amount, and the period ends at once', async () => {
  const { token, revoke } = story()
  revoke(START + 10 * DAY)
  expect(await periods(token)).toMatchObject([{ ends: '2026-01-11T10:00:00Z', refund: { at: '2026-01-11T10:00:00Z', amount: null } }])
})

test('revoked for the rest of the time: the amount that the order says', async () => {
  const { token, revoke } = story()
  revoke(START + 10 * DAY)
  fixture.google.orders.get(ORDER)!.orderHistory!.refundEvent!.refundDetails!.total = {
    currencyCode: 'EUR',
    units: '6',
    nanos: 660_000_000,
  }
  expect(await periods(token)).toMatchObject([{ refund: { amount: '6.66' } }])
})

test('an order that is being refunded, or whose state is unknown, says nothing of a refund', async () => {
  const { token } = story()
  for (const state of ['PENDING_REFUND', 'STATE_OF_TOMORROW']) {
    fixture.google.orders.get(ORDER)!.state = state
    expect((await periods(token))[0]).not.toHaveProperty('refund')
  }
})

test('the share of the proceeds is stated by an untouched order only', async () => {
  const { token, refund } = story()
  expect(await periods(token)).toMatchObject([{ proceedsShare: '0.85' }])
  refund(START + DAY, '1')
  expect((await periods(token))[0]).not.toHaveProperty('proceedsShare')
})

test('the parts of several lines are the whole', async () => {
  const { token } = story({ price: '10' })
  const order = fixture.google.orders.get(ORDER)!
  const line = order.lineItems![0]!
  const eur = (units: string, nanos = 0) => ({ currencyCode: 'EUR', units, nanos })
  order.lineItems = [line, { ...line, productId: 'extra', total: eur('10') }, { ...line, productId: 'more', total: eur('10') }]
  order.state = 'PARTIALLY_REFUNDED'
  order.orderHistory!.partialRefundEvents = [
    { createTime: '2026-01-02T00:00:00Z', state: 'PROCESSED', refundDetails: { total: eur('10') } },
  ]
  const amounts = (await periods(token)).map(({ refund }) => refund?.amount)
  expect(amounts.toSorted()).toEqual(['3.333333333', '3.333333333', '3.333333334'])
})

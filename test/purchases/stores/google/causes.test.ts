import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type PlayFixture, periodsOf, playFixture, renewalOf, reportsOf } from '../../../harness/stores/google-fixture.ts'
import { playStory } from '../../../harness/stores/google-story.ts'

// Who ended a subscription, and why a period is cheaper.

const DAY = 86_400_000
const START = Date.parse('2026-01-01T10:00:00Z')
let fixture: PlayFixture
let token: string
let count = 0
beforeAll(async () => {
  fixture = await playFixture()
})
afterAll(() => fixture.close())
beforeEach(() => {
  token = `caused-${++count}`
  fixture.google.orders.clear()
})

const story = () => playStory(fixture.google, { token })
async function known() {
  const [report] = reportsOf(await fixture.play.refresh(token, fixture.context))
  return { periods: periodsOf(report!.statements), renewal: renewalOf(report!.statements) }
}

test('the customer cancelled', async () => {
  const one = story()
  one.subscribe(START)
  one.cancel(START + DAY)
  const { renewal } = await known()
  expect(renewal).toMatchObject({ isVoluntary: true })
  expect(renewal).not.toHaveProperty('hasFailed')
})

test('Google gave up the charge; the developer took it back', async () => {
  const one = story()
  one.subscribe(START)
  one.hold()
  one.expire(START + 60 * DAY)
  expect((await known()).renewal).toMatchObject({ isVoluntary: false, hasFailed: true })
  one.revoke(START + 61 * DAY)
  const { renewal } = await known()
  expect(renewal).toMatchObject({ isVoluntary: false })
  expect(renewal).not.toHaveProperty('hasFailed')
})

test('a promotion that makes the base price 0 is no trial', async () => {
  const one = story()
  one.subscribe(START)
  const order = fixture.google.orders.get(one.latestOrder())!
  const total = { currencyCode: 'EUR' }
  fixture.google.orders.set(one.latestOrder(), { ...order, total, lineItems: [{ ...order.lineItems![0]!, total }] })
  expect((await known()).periods[0]).toMatchObject({ price: '0', periodType: 'normal', isDiscounted: true })
})

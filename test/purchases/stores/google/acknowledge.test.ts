import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type PlayFixture, playFixture } from '../../../harness/stores/google-fixture.ts'
import { playStory } from '../../../harness/stores/google-story.ts'

const START = Date.parse('2026-01-01T10:00:00Z')
let fixture: PlayFixture
beforeAll(async () => {
  fixture = await playFixture()
})
afterAll(() => fixture.close())
beforeEach(() => {
  fixture.google.instead = () => undefined
  fixture.google.requests.length = 0
})

const acknowledge = (token: string) => fixture.play.acknowledge(token, fixture.context)
const posted = () => fixture.google.requests.filter(({ method, path }) => method === 'POST' && path !== '/token').map(({ path }) => path)
const oneTime = (purchaseState: string, acknowledgementState = 'ACKNOWLEDGEMENT_STATE_PENDING') =>
  fixture.google.oneTimes.set('coins', {
    acknowledgementState,
    purchaseStateContext: { purchaseState },
    productLineItem: [{ productId: 'coins_100' }],
  })

test('a subscription once, and not again', async () => {
  playStory(fixture.google, { token: 'token-1' }).subscribe(START)
  expect(await acknowledge('token-1')).toEqual({ is: 'done' })
  expect(await acknowledge('token-1')).toEqual({ is: 'done' })
  expect(posted()).toEqual([expect.stringMatching(/\/purchases\/subscriptions\/pro\/tokens\/token-1:acknowledge$/)])
})

test('a one-time purchase once, and it is not consumed', async () => {
  oneTime('PURCHASED')
  expect(await acknowledge('coins')).toEqual({ is: 'done' })
  expect(await acknowledge('coins')).toEqual({ is: 'done' })
  expect(posted()).toEqual([expect.stringMatching(/\/purchases\/products\/coins_100\/tokens\/coins:acknowledge$/)])
})

test('what is not paid is not due', async () => {
  oneTime('PENDING')
  expect(await acknowledge('coins')).toEqual({ is: 'notDue' })
  oneTime('CANCELLED')
  expect(await acknowledge('coins')).toEqual({ is: 'notDue' })
  const { subscribe, answer } = playStory(fixture.google, { token: 'pending' })
  subscribe(START)
  answer().subscriptionState = 'SUBSCRIPTION_STATE_PENDING'
  expect(await acknowledge('pending')).toEqual({ is: 'notDue' })
  expect(posted()).toEqual([])
})

test('a failure is reported', async () => {
  expect(await acknowledge('nobody')).toMatchObject({ is: 'unknown' })
  playStory(fixture.google, { token: 'token-2' }).subscribe(START)
  fixture.google.instead = ({ path }) => (path.endsWith(':acknowledge') ? { status: 503, headers: { 'retry-after': '5' } } : undefined)
  expect(await acknowledge('token-2')).toEqual({ is: 'later', why: 'http_503', afterMs: 5000 })
  fixture.google.instead = ({ path }) => (path.endsWith(':acknowledge') ? { status: 403 } : undefined)
  expect(await acknowledge('token-2')).toEqual({ is: 'refused', why: 'http_403' })
})

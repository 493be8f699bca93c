import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { readPlayNotification } from '../../../../workflows/stores/google/read-notification.ts'
import type { Swept, SweptNotification } from '../../../../workflows/stores/store-client.ts'
import { type PlayFixture, playFixture } from '../../../harness/stores/google-fixture.ts'

const NOW = Date.parse('2026-03-01T00:00:00Z')
const HOUR = 3_600_000
let fixture: PlayFixture
beforeAll(async () => {
  fixture = await playFixture(() => NOW)
})
afterAll(() => fixture.close())
beforeEach(() => {
  fixture.google.voided = []
  fixture.google.requests.length = 0
  fixture.google.instead = () => undefined
})

/** All pages as one. */
async function sweep(sinceMs = NOW - HOUR): Promise<Swept> {
  const notifications: SweptNotification[] = []
  for await (const page of fixture.play.voidedPurchases(sinceMs, fixture.context)) {
    if (page.is !== 'swept') return page
    notifications.push(...page.notifications)
  }
  return { is: 'swept', notifications }
}

test('all pages, in the form of notifications', async () => {
  for (let index = 0; index < 5; index++)
    fixture.google.voided.push({ purchaseToken: `token-${index}`, orderId: `GPA.${index}`, voidedTimeMillis: String(NOW - index) })
  const swept = await sweep()
  if (swept.is !== 'swept') throw new Error(swept.is)
  expect(swept.notifications.map(({ notification }) => notification)).toEqual(
    [0, 1, 2, 3, 4].map(index => ({
      id: `voided:GPA.${index}:${NOW - index}`,
      type: 'voided_purchase',
      subtype: null,
      environment: null,
      queue: `token-${index}`,
      statedAt: NOW - index,
    })),
  )
  const { notification, body } = swept.notifications[0]!
  expect(readPlayNotification({ ...notification, body })).toMatchObject({ is: 'read', refresh: true, transactions: ['GPA.0'] })
})

test('subscriptions and parts of a quantity are asked for; a part has an id of its own', async () => {
  const common = { purchaseToken: 'coins', orderId: 'GPA.5', voidedTimeMillis: String(NOW) }
  fixture.google.voided.push(common, { ...common, voidedQuantity: 2 })
  const swept = await sweep()
  expect(swept.is === 'swept' && swept.notifications.map(({ notification }) => notification.id)).toEqual([
    `voided:GPA.5:${NOW}`,
    `voided:GPA.5:${NOW}:2`,
  ])
  const { query } = fixture.google.requests.at(-1)!
  expect(Object.fromEntries(query)).toMatchObject({ type: '1', includeQuantityBasedPartialRefund: 'true', startTime: String(NOW - HOUR) })
})

test('never asked for more than Google can tell', async () => {
  await sweep(0)
  expect(Number(fixture.google.requests.at(-1)!.query.get('startTime'))).toBeGreaterThan(NOW - 30 * 24 * HOUR)
})

test('a failure is reported', async () => {
  fixture.google.instead = () => ({ status: 429, headers: { 'retry-after': '30' } })
  expect(await sweep()).toEqual({ is: 'later', why: 'http_429', afterMs: 30_000 })
  fixture.google.instead = () => ({ status: 403 })
  expect(await sweep()).toEqual({ is: 'refused', why: 'http_403' })
})

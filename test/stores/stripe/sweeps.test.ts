import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Swept } from '../../../workflows/stores/store-client.ts'
import type { FoundLanes } from '../../../workflows/stores/stripe/all-subscriptions.ts'
import { type StripeFixture, stripeFixture } from '../../harness/stores/stripe-fixture.ts'
import { DAY_MS, stripeStory } from '../../harness/stores/stripe-story.ts'

const START = Date.parse('2026-01-01T10:00:00Z')
let fixture: StripeFixture
beforeAll(async () => {
  fixture = await stripeFixture()
})
afterAll(() => fixture.close())
beforeEach(() => {
  fixture.server.clear()
  fixture.clock.now = START + 2 * DAY_MS
})

async function all<Page>(pages: AsyncGenerator<Page>): Promise<Page[]> {
  const found: Page[] = []
  for await (const page of pages) found.push(page)
  return found
}
const sweep = (sinceMs = START - 1000) => all<Swept>(fixture.store.recentEvents(sinceMs, fixture.asking))
const notificationsOf = (pages: Swept[]) => pages.flatMap(page => (page.is === 'swept' ? page.notifications : []))

test('events of our types, page by page, in the form of pushes', async () => {
  const one = stripeStory(fixture.server)
  one.subscribe(START)
  one.push('customer.updated', { id: 'cus_1', object: 'customer' }, START)
  for (let day = 0; day < 4; day++) one.refund(START + day * 1000, 100)
  one.dispute(START + 60_000, 'lost')
  fixture.server.pageSize = 2
  const pages = await sweep()
  const found = notificationsOf(pages)
  expect(found.map(({ notification }) => [notification.type, notification.lane]).sort()).toEqual([
    ['charge.dispute.closed', 'charge:ch_in_sub_1_1'],
    ...Array.from({ length: 4 }, () => ['charge.refunded', 'charge:ch_in_sub_1_1']),
    ['customer.subscription.created', 'sub_1'],
    ['invoice.paid', 'sub_1'],
  ])
  expect(pages.length).toBeGreaterThan(3)
  for (const { notification, body } of found) {
    const recorded = { ...notification, body }
    expect(await fixture.store.read(recorded, fixture.settings)).toMatchObject({ is: 'read', refresh: true })
  }
})

test('a swept event is the pushed one', async () => {
  const one = stripeStory(fixture.server)
  const pushed = one.subscribe(START)
  const found = notificationsOf(await sweep()).find(({ notification }) => notification.id === pushed.id)!
  expect(found.notification).toMatchObject({ statedAt: START, environment: 'production', lane: 'sub_1' })
  expect(JSON.parse(Buffer.from(found.body).toString())).toEqual(JSON.parse(pushed.body.toString()))
})

test('only of the mode of the key, and only since the given time', async () => {
  stripeStory(fixture.server, { id: 'sub_test', livemode: false }).subscribe(START)
  stripeStory(fixture.server, { id: 'sub_old' }).subscribe(START - DAY_MS)
  stripeStory(fixture.server).subscribe(START)
  expect(new Set(notificationsOf(await sweep()).map(({ notification }) => notification.lane))).toEqual(new Set(['sub_1']))
})

test('never asked for more than Stripe can tell, nor for more types than it takes', async () => {
  await sweep(0)
  for (const { query } of fixture.server.asked) {
    expect(Number(query.get('created[gte]'))).toBe((fixture.clock.now - 30 * DAY_MS) / 1000)
    expect([...query.keys()].filter(name => name.startsWith('types[')).length).toBeLessThanOrEqual(20)
  }
})

test('what fails is told, and ends the sweep', async () => {
  stripeStory(fixture.server).subscribe(START)
  fixture.server.pageSize = 1
  fixture.server.instead = () => (fixture.server.asked.length > 1 ? { status: 429, headers: { 'retry-after': '30' } } : undefined)
  const pages = await sweep()
  expect(pages).toMatchObject([{ is: 'swept' }, { is: 'later', why: 'http_429', afterMs: 30_000 }])
})

test('who needs no more pages asks for none', async () => {
  stripeStory(fixture.server).subscribe(START)
  fixture.server.pageSize = 1
  for await (const page of fixture.store.recentEvents(START, fixture.asking)) if (page.is === 'swept') break
  expect(fixture.server.asked).toHaveLength(1)
})

const backfill = (sinceMs: number | null = null) => all<FoundLanes>(fixture.store.allSubscriptions(sinceMs, fixture.asking))
const lanesOf = (pages: FoundLanes[]) => pages.flatMap(page => (page.is === 'found' ? page.lanes : []))

test('all subscriptions that were ever paid, page by page, ended ones too', async () => {
  for (let n = 0; n < 5; n++) stripeStory(fixture.server, { id: `sub_${n}` }).subscribe(START + n * 1000)
  const unpaid = stripeStory(fixture.server, { id: 'sub_unpaid' })
  unpaid.subscribe(START)
  unpaid.set({ status: 'incomplete_expired' })
  const ended = stripeStory(fixture.server, { id: 'sub_ended' })
  ended.subscribe(START)
  ended.end(START + 1000)
  fixture.server.pageSize = 3
  fixture.server.asked.length = 0
  const pages = await backfill()
  expect(pages).toHaveLength(3)
  expect(lanesOf(pages).sort()).toEqual(['sub_0', 'sub_1', 'sub_2', 'sub_3', 'sub_4', 'sub_ended'])
  expect(fixture.server.asked[0]!.query.get('status')).toBe('all')
  expect(lanesOf(await backfill(START + 3000))).toEqual(['sub_4', 'sub_3'])
})

test('a backfill that fails ends', async () => {
  fixture.server.instead = () => ({ status: 403 })
  expect(await backfill()).toEqual([{ is: 'refused', why: 'http_403' }])
})

import { expect, test } from 'vitest'
import type { Swept } from '../../../../workflows/stores/store-client.ts'
import type { FoundQueues } from '../../../../workflows/stores/stripe/all-subscriptions.ts'
import { DAY_MS, stripeStory } from '../../../harness/stores/stripe-story.ts'
import { START, stripeStage } from './stage.ts'

const stage = stripeStage(2 * DAY_MS)

async function all<Page>(pages: AsyncGenerator<Page>): Promise<Page[]> {
  const found: Page[] = []
  for await (const page of pages) found.push(page)
  return found
}
const sweep = (sinceMs = START - 1000) => all<Swept>(stage.fixture.store.recentEvents(sinceMs, stage.fixture.context))
const notificationsOf = (pages: Swept[]) => pages.flatMap(page => (page.is === 'swept' ? page.notifications : []))

test('events of our types, page by page, in the form of pushes', async () => {
  const one = stripeStory(stage.fixture.server)
  one.subscribe(START)
  one.push('customer.updated', { id: 'cus_1', object: 'customer' }, START)
  for (let day = 0; day < 4; day++) one.refund(START + day * 1000, 100)
  one.dispute(START + 60_000, 'lost')
  stage.fixture.server.pageSize = 2
  const pages = await sweep()
  const found = notificationsOf(pages)
  expect(found.map(({ notification }) => [notification.type, notification.queue]).sort()).toEqual([
    ['charge.dispute.closed', 'charge:ch_in_sub_1_1'],
    ...Array.from({ length: 4 }, () => ['charge.refunded', 'charge:ch_in_sub_1_1']),
    ['customer.subscription.created', 'sub_1'],
    ['invoice.paid', 'sub_1'],
  ])
  expect(pages.length).toBeGreaterThan(3)
  for (const { notification, body } of found) {
    const recorded = { ...notification, body }
    expect(await stage.fixture.store.read(recorded, stage.fixture.settings)).toMatchObject({ is: 'read', refresh: true })
  }
})

test('a swept event is the pushed one', async () => {
  const one = stripeStory(stage.fixture.server)
  const pushed = one.subscribe(START)
  const found = notificationsOf(await sweep()).find(({ notification }) => notification.id === pushed.id)!
  expect(found.notification).toMatchObject({ statedAt: START, environment: 'production', queue: 'sub_1' })
  expect(JSON.parse(Buffer.from(found.body).toString())).toEqual(JSON.parse(pushed.body.toString()))
})

test('only of the mode of the key, and only since the given time', async () => {
  stripeStory(stage.fixture.server, { id: 'sub_test', livemode: false }).subscribe(START)
  stripeStory(stage.fixture.server, { id: 'sub_old' }).subscribe(START - DAY_MS)
  stripeStory(stage.fixture.server).subscribe(START)
  expect(new Set(notificationsOf(await sweep()).map(({ notification }) => notification.queue))).toEqual(new Set(['sub_1']))
})

test('never asked for more than Stripe can tell, nor for more types than it takes', async () => {
  await sweep(0)
  for (const { query } of stage.fixture.server.requests) {
    expect(Number(query.get('created[gte]'))).toBe((stage.fixture.clock.now - 30 * DAY_MS) / 1000)
    expect([...query.keys()].filter(name => name.startsWith('types[')).length).toBeLessThanOrEqual(20)
  }
})

test('a failure is reported, and ends the sweep', async () => {
  stripeStory(stage.fixture.server).subscribe(START)
  stage.fixture.server.pageSize = 1
  stage.fixture.server.instead = () =>
    stage.fixture.server.requests.length > 1 ? { status: 429, headers: { 'retry-after': '30' } } : undefined
  const pages = await sweep()
  expect(pages).toMatchObject([{ is: 'swept' }, { is: 'later', why: 'http_429', afterMs: 30_000 }])
})

test('who needs no more pages asks for none', async () => {
  stripeStory(stage.fixture.server).subscribe(START)
  stage.fixture.server.pageSize = 1
  for await (const page of stage.fixture.store.recentEvents(START, stage.fixture.context)) if (page.is === 'swept') break
  expect(stage.fixture.server.requests).toHaveLength(1)
})

const backfill = (sinceMs: number | null = null) => all<FoundQueues>(stage.fixture.store.allSubscriptions(sinceMs, stage.fixture.context))
const queuesOf = (pages: FoundQueues[]) => pages.flatMap(page => (page.is === 'found' ? page.queues : []))

test('all subscriptions that were ever paid, page by page, ended ones too', async () => {
  for (let n = 0; n < 5; n++) stripeStory(stage.fixture.server, { id: `sub_${n}` }).subscribe(START + n * 1000)
  const unpaid = stripeStory(stage.fixture.server, { id: 'sub_unpaid' })
  unpaid.subscribe(START)
  unpaid.set({ status: 'incomplete_expired' })
  const ended = stripeStory(stage.fixture.server, { id: 'sub_ended' })
  ended.subscribe(START)
  ended.end(START + 1000)
  stage.fixture.server.pageSize = 3
  stage.fixture.server.requests.length = 0
  const pages = await backfill()
  expect(pages).toHaveLength(3)
  expect(queuesOf(pages).sort()).toEqual(['sub_0', 'sub_1', 'sub_2', 'sub_3', 'sub_4', 'sub_ended'])
  expect(stage.fixture.server.requests[0]!.query.get('status')).toBe('all')
  expect(queuesOf(await backfill(START + 3000))).toEqual(['sub_4', 'sub_3'])
})

test('a backfill that fails ends', async () => {
  stage.fixture.server.instead = () => ({ status: 403 })
  expect(await backfill()).toEqual([{ is: 'refused', why: 'http_403' }])
})

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { SweptNotification } from '../../../../workflows/stores/store-client.ts'
import { paddleId } from '../../../harness/stores/paddle.ts'
import { type PaddleFixture, paddleArrival, paddleFixture } from '../../../harness/stores/paddle-fixture.ts'
import { type PaddlePush, paddlePush, paddleStory } from '../../../harness/stores/paddle-story.ts'

const NOW = Date.parse('2026-03-01T00:00:00Z')
const MINUTE = 60_000
let fixture: PaddleFixture
beforeAll(async () => {
  fixture = await paddleFixture(() => NOW)
})
afterAll(() => fixture.close())
beforeEach(() => {
  const { live } = fixture
  Object.assign(live, { events: [], instead: () => undefined, pageSize: null })
  live.subscriptions.clear()
  live.requests.length = 0
})

const posted = (count: number): PaddlePush[] =>
  Array.from({ length: count }, (_, i) =>
    paddlePush(fixture.live, 'subscription.updated', NOW - i * MINUTE, {
      id: paddleId('sub', NOW, i),
      status: 'active',
      scheduled_change: null,
    }),
  )

async function swept(sinceMs: number, context = fixture.context) {
  const pages: SweptNotification[][] = []
  let end: object | null = null
  for await (const page of fixture.paddle.events(sinceMs, context))
    if (page.is === 'swept') pages.push(page.notifications)
    else end = page
  return { pages, ids: pages.flat().map(({ notification }) => notification.id), end }
}

test('all pages, in the form of pushes: what is recorded of them is the same', async () => {
  const pushes = posted(5)
  fixture.live.pageSize = 2
  const { pages, ids, end } = await swept(NOW - 60 * MINUTE)
  expect(ids).toEqual(pushes.map(({ id }) => id))
  expect(pages.map(page => page.length)).toEqual([2, 2, 1])
  expect(end).toBeNull()
  for (const [i, { notification, body }] of pages.flat().entries()) {
    expect(await fixture.paddle.verify(paddleArrival(pushes[i]!.body, NOW), fixture.settings)).toEqual({ is: 'accepted', notification })
    const [fromSweep, fromPush] = [body, pushes[i]!.body].map(one => fixture.paddle.read({ ...notification, body: one }, fixture.settings))
    expect(await fromSweep).toEqual(await fromPush)
  }
})

test('ends with what is older, and asks no further', async () => {
  const pushes = posted(9)
  fixture.live.pageSize = 2
  expect((await swept(NOW - 2 * MINUTE)).ids).toEqual(pushes.slice(0, 3).map(({ id }) => id))
  expect(fixture.live.requests).toHaveLength(3)
  expect(fixture.live.calls()[1]).toContain(`after=${pushes[1]!.id}`)
})

test('only the events that are read are asked for, and taken', async () => {
  const [one] = posted(1)
  paddlePush(fixture.live, 'customer.updated', NOW, { id: 'ctm_1' })
  expect((await swept(0)).ids).toEqual([one!.id])
  const requested = fixture.live.requests[0]!
  expect(requested.query.get('event_type')?.split(',')).toContain('adjustment.updated')
  expect(requested.query.get('per_page')).toBe('200')
  // An API that does not know the filter.
  const data = fixture.live.events
  fixture.live.instead = () => ({ status: 200, body: { data, meta: { pagination: { has_more: false } } } })
  expect((await swept(0)).ids).toEqual([one!.id])
})

test('nothing has happened', async () => expect(await swept(0)).toEqual({ pages: [], ids: [], end: null }))

test('the sandbox has events of its own', async () => {
  paddlePush(fixture.sandbox, 'subscription.created', NOW, { id: paddleId('sub', NOW, 1) })
  const { pages } = await swept(0, { ...fixture.context, environment: 'sandbox' })
  expect(pages).toMatchObject([[{ notification: { environment: 'sandbox' } }]])
})

test('a failure is reported, after the pages before', async () => {
  posted(4)
  fixture.live.pageSize = 2
  fixture.live.instead = ({ query }) => (query.has('after') ? { status: 429, headers: { 'retry-after': '30' } } : undefined)
  const { ids, end } = await swept(0)
  expect(ids).toHaveLength(2)
  expect(end).toEqual({ is: 'later', why: 'http_429', afterMs: 30_000 })
  fixture.live.instead = () => ({ status: 403 })
  expect((await swept(0)).end).toEqual({ is: 'refused', why: 'http_403' })
  fixture.live.instead = () => ({ status: 200, body: { data: [{ event_id: 'evt_1' }] } })
  expect((await swept(0)).end).toMatchObject({ is: 'later', why: 'answer_unreadable' })
})

test('a sweep ends with the signal', async () => {
  fixture.live.instead = () => 'hang'
  const signal = AbortSignal.timeout(20)
  await expect(swept(0, { ...fixture.context, signal })).rejects.toThrow()
})

/** Subscriptions that last changed so many days after the first one. */
function subscriptions(count: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const { subscribe, id } = paddleStory(fixture.live)
    subscribe(NOW + i * 86_400_000)
    return id
  })
}

async function queues(changedSinceMs: number | null = null, after: string | null = null) {
  const found: { queues: string[]; next: string | null }[] = []
  for await (const page of fixture.paddle.subscriptions({ changedSinceMs, after }, fixture.context)) {
    if (page.is !== 'queues') return page
    found.push({ queues: page.queues, next: page.next })
  }
  return found
}

test('backfill: the queues of all subscriptions, and where to go on', async () => {
  const ids = subscriptions(5)
  fixture.live.pageSize = 2
  const all = [
    { queues: ids.slice(0, 2), next: ids[1] },
    { queues: ids.slice(2, 4), next: ids[3] },
    { queues: ids.slice(4), next: null },
  ]
  expect(await queues()).toEqual(all)
  expect(await queues(null, ids[1])).toEqual(all.slice(1))
  expect(await queues(NOW + 3 * 86_400_000)).toEqual([
    { queues: [], next: ids[1] },
    { queues: [ids[3]], next: ids[3] },
    { queues: [ids[4]], next: null },
  ])
  fixture.live.subscriptions.clear()
  expect(await queues()).toEqual([{ queues: [], next: null }])
})

test('backfill: a list that does not go on ends', async () => {
  const data = subscriptions(2).map(id => ({ id }))
  fixture.live.instead = () => ({ status: 200, body: { data, meta: { pagination: { has_more: true } } } })
  expect(await queues()).toEqual({ is: 'later', why: 'answer_unreadable', afterMs: null })
})

test('backfill: a failure is reported', async () => {
  fixture.live.instead = () => ({ status: 500 })
  expect(await queues()).toEqual({ is: 'later', why: 'http_500', afterMs: null })
})

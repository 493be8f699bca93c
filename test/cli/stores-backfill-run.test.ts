import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { stripeStory } from '../harness/stores/stripe-story.ts'
import { type StoreCommands, startStoreCommands } from './stores.ts'

const DAY = 86_400_000

let commands: StoreCommands
beforeAll(async () => {
  commands = await startStoreCommands()
})
afterAll(() => commands.stop())
beforeEach(() => commands.at.begin())

const backfill = (...more: string[]) => commands.run('backfill', commands.at.project.id, 'stripe', ...more)
/** Subscriptions that Stripe knows and the service does not. */
function history(ids: string[], begin = Date.now() - 40 * DAY): void {
  for (const id of ids) {
    const story = stripeStory(commands.at.stripe, { id })
    story.subscribe(begin)
    story.renew()
  }
}

test('the lineages that the store knows are asked about', async () => {
  const { at } = commands
  history(['sub_1', 'sub_2'])
  await at.connectStripe()
  const { code, out, notes } = await backfill()
  expect(out).toMatch(/^2 lineages to ask about, \d+ new notifications\. The workers ask Stripe about them: "stores status/)
  expect(notes).toContain('production, listed: 2 lineages to ask about')
  expect(notes).toContain('sandbox, done: 0 lineages to ask about')
  expect(code).toBe(0)
  await at.settled()
  expect(await at.purchases()).toHaveLength(4)
})

test('a store that is not connected is reported in one line, with where to look', async () => {
  const { code, out, notes } = await backfill()
  expect([code, out]).toEqual([1, ''])
  expect(notes).toBe(`Stripe is not connected: "stores check ${commands.at.project.id}" tells what is missing`)
})

test('while the store is down it stops, and the same command goes on', async () => {
  const { at } = commands
  history(['sub_1', 'sub_2', 'sub_3'])
  await at.connectStripe()
  at.stripe.pageSize = 2
  at.stripe.instead = ({ query }) => (query.has('starting_after') ? { status: 503, body: {} } : undefined)
  const stopped = await backfill()
  expect([stopped.code, stopped.out]).toEqual([1, ''])
  expect(stopped.notes).toContain(
    'Stripe (production) gave no answer: http_503. So far: 2 lineages to ask about, 0 new notifications. The same command goes on from there',
  )
  at.stripe.instead = () => undefined
  expect((await backfill()).code).toBe(0)
  await at.settled()
  expect((await at.queues()).map(({ name }) => name).toSorted()).toEqual(['sub_1', 'sub_2', 'sub_3'])
  expect(await at.purchases()).toHaveLength(6)
})

test('a day bounds it, and one that does not exist is refused before anything is asked', async () => {
  const { at } = commands
  history(['sub_old'])
  history(['sub_new'], Date.now() - 5 * DAY)
  await at.connectStripe()
  const { code, notes } = await backfill('--from', '2026-02-30')
  expect([code, notes]).toEqual([1, expect.stringContaining('--from must be a date such as 2026-01-31')])
  expect(at.stripe.requests).toEqual([])
  const since = new Date(Date.now() - 6 * DAY).toISOString().slice(0, 10)
  expect((await backfill('--from', since)).out).toMatch(/^1 lineages? to ask about/)
})

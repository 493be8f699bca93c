import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AppleFixture, appleFixture, arrivalOf, NOW, onlyReport, periodsIn } from '../../../harness/stores/apple-fixture.ts'
import { type AppleStory, appleStory } from '../../../harness/stores/apple-story.ts'
import { MONTH_MS } from '../../../harness/stores/apple-subscription.ts'

let fixture: AppleFixture
let story: AppleStory
beforeAll(async () => {
  fixture = await appleFixture()
  story = appleStory(fixture.chain, NOW - 6 * MONTH_MS)
  fixture.server.production.lineages.push(story.subscription.state)
})
afterAll(() => fixture.close())

/** Of each transaction, what all notifications say of begin, end, price and refund at last. */
const FIELDS = ['product', 'begins', 'ends', 'price', 'periodType', 'isRenewal', 'refund'] as const
const facts = (statements: ReturnType<typeof periodsIn>) =>
  Object.fromEntries(
    statements
      .toSorted((a, b) => a.statedAt - b.statedAt)
      .map(({ subject, reported }) => [subject, Object.fromEntries(FIELDS.map(field => [field, reported[field]]))]),
  )

test('a story that Apple posts is accepted into one queue, and reports the same of its periods as Apple’s answer', async () => {
  const { subscription, notifications } = story
  const gates = await Promise.all(notifications.map(({ body }) => fixture.store.verify(arrivalOf(body), fixture.settings)))
  expect(gates.map(gate => (gate.is === 'accepted' ? gate.notification.queue : gate.is))).toEqual(Array(10).fill(subscription.lineage))

  const reads = await Promise.all(notifications.map(notification => fixture.read(notification)))
  expect(reads.map(({ refresh }) => refresh)).toEqual(Array(10).fill(false))
  const statements = reads.flatMap(read => periodsIn(onlyReport(read).statements))
  const requested = onlyReport(await fixture.store.refresh(subscription.lineage, fixture.context))
  expect(facts(statements)).toEqual(facts(periodsIn(requested.statements)))
  expect(Object.keys(facts(statements))).toHaveLength(4)
})

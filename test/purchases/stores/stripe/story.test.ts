import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { type FoldedLineage, foldLineage } from '../../../../domain/purchases/store-facts/fold.ts'
import { tied } from '../../../../domain/purchases/store-facts/order.ts'
import { statedPeriods } from '../../../../domain/purchases/store-facts/stated-period.ts'
import type { PeriodStatement, RenewalStatement, Statement, StoreReport } from '../../../../domain/purchases/store-facts/statement.ts'
import { share } from '../../../harness/effort.ts'
import { reportsOf } from '../../../harness/stores/google-fixture.ts'
import { arrivalOf, type StripeFixture, stripeFixture } from '../../../harness/stores/stripe-fixture.ts'
import { DAY_MS, HOUR_MS, type StoryOptions, type StripePush, type StripeStory, stripeStory } from '../../../harness/stores/stripe-story.ts'
import { permutations } from '../../store-facts/stories.ts'

// Stories that Stripe tells: each step sends an event, and after each Stripe is asked. The facts must not depend on the order in which events and
// answers are recorded, nor on which of the answers in between were asked for.

const START = Date.parse('2026-01-01T10:00:00Z')
const END = START + 30 * DAY_MS

type Step = (one: StripeStory) => StripePush
type Story = { name: string; options?: StoryOptions; steps: Step[]; expected: object[]; isSeenOnlyWhenFetched?: true }

const subscribe: Step = one => one.subscribe(START)
const [PRO, MAX] = ['prod_pro', 'prod_max']

const STORIES: Story[] = [
  {
    name: 'trial, convert, cancel, resubscribe, end',
    options: { trialDays: 7 },
    steps: [
      subscribe,
      one => one.renew(),
      one => one.cancel(START + 10 * DAY_MS),
      one => one.restart(START + 12 * DAY_MS),
      one => one.cancel(START + 14 * DAY_MS),
      one => one.end(),
    ],
    expected: [
      { periodType: 'trial', price: '0', autoRenews: true },
      { periodType: 'normal', autoRenews: false, autoRenewChanges: [10, 12, 14].map(day => START / 1000 + day * 86_400) },
    ],
  },
  {
    name: 'renew, retry, recover',
    steps: [
      subscribe,
      one => one.draft(),
      one => one.fail(END + HOUR_MS),
      one => one.fail(END + 2 * DAY_MS),
      one => one.pay(END + 3 * DAY_MS),
      one => one.renew(),
    ],
    expected: [
      { retry: { since: '2026-01-31T10:00:00Z' } },
      { begins: '2026-01-31T10:00:00Z', retry: { since: null } },
      { autoRenews: true },
    ],
  },
  {
    name: 'retry that the customer ends by another card: only the event tells that the charge had failed',
    steps: [
      subscribe,
      one => one.draft(),
      one => {
        const failed = one.fail(END + HOUR_MS)
        // Stripe counts its own attempts only.
        one.setInvoice(one.latest(), { attempt_count: 0 })
        return failed
      },
      one => one.pay(END + 2 * HOUR_MS),
    ],
    expected: [{ retry: { since: '2026-01-31T10:00:00Z' }, autoRenews: true }, { autoRenews: true }],
  },
  {
    name: 'retry, expire',
    steps: [
      subscribe,
      one => one.draft(),
      one => one.fail(END + HOUR_MS),
      one => one.fail(END + 5 * DAY_MS),
      one => one.end(END + 20 * DAY_MS),
    ],
    expected: [{ ends: '2026-01-31T10:00:00Z', retry: { since: '2026-01-31T10:00:00Z', graceUntil: null }, autoRenews: false }],
  },
  {
    name: 'upgrade at once, then ended at once',
    steps: [
      subscribe,
      one => {
        const at = START + 15 * DAY_MS
        const item = 'si_1'
        return one.change(
          at,
          [{ id: item, product: MAX!, amount: 3000 }],
          [
            { ...one.rest(at), item, product: PRO!, amount: -500, isProration: true },
            { ...one.rest(at), item, product: MAX!, amount: 1500, isProration: true },
          ],
        )
      },
      one => one.end(START + 20 * DAY_MS),
    ],
    expected: [
      { product: PRO, ends: '2026-01-16T10:00:00Z' },
      { product: MAX, ends: '2026-01-21T10:00:00Z', level: { is: 'upgrade', refunded: '5' }, autoRenews: false },
    ],
  },
  {
    name: 'off, on, renew, off',
    steps: [
      subscribe,
      one => one.cancel(START + 3 * DAY_MS),
      one => one.restart(START + 5 * DAY_MS),
      one => one.renew(),
      one => one.cancel(END + 3 * DAY_MS),
    ],
    expected: [{ autoRenews: true, autoRenewChanges: [3, 5].map(day => START / 1000 + day * 86_400) }, { autoRenews: false }],
  },
  {
    name: 'partial, full refund, renew',
    steps: [subscribe, one => one.refund(START + 2 * DAY_MS, 400), one => one.refund(START + 3 * DAY_MS, 600), one => one.renew()],
    expected: [{ refund: { at: '2026-01-04T10:00:00Z', amount: '10' } }, { refund: { at: null } }],
  },
  {
    name: 'a refund that the bank sends back',
    steps: [subscribe, one => one.refund(START + 2 * DAY_MS), one => one.refundFails(START + 4 * DAY_MS)],
    expected: [{ refund: { at: null, amount: null, takenBack: '10.00' } }],
    isSeenOnlyWhenFetched: true,
  },
  {
    name: 'pause, resume',
    steps: [
      subscribe,
      one => one.pause(START + 2 * DAY_MS),
      one => one.pausedPeriod(),
      one => one.resume(END + 10 * DAY_MS),
      one => one.renew(),
    ],
    expected: [{ ends: '2026-01-31T10:00:00Z', autoRenews: true, retry: { since: null } }, { begins: '2026-03-02T10:00:00Z' }],
  },
]

type StoryStatements = { pushes: Statement[][]; answers: Statement[][] }

let fixture: StripeFixture
const emittedOf = new Map<string, StoryStatements>()
// All stories first: while orders are folded nothing else runs, and connections that the server meanwhile closes for idleness would be used again.
beforeAll(async () => {
  fixture = await stripeFixture()
  for (const story of STORIES) emittedOf.set(story.name, await runStory(story))
  await fixture.close()
})

const ofLineage = (reports: StoreReport[]) => reports.filter(({ lineage }) => lineage === 'sub_1').flatMap(({ statements }) => statements)

/** What the events and the answers after each of them state. */
async function runStory({ options, steps }: Story): Promise<StoryStatements> {
  fixture.server.clear()
  const one = stripeStory(fixture.server, options)
  const [pushes, answers]: [Statement[][], Statement[][]] = [[], []]
  for (const step of steps) {
    const { id, at, type, body } = step(one)
    fixture.clock.now = at + 5000
    const gate = await fixture.store.verify(await arrivalOf(body, { at }), fixture.settings)
    if (gate.is !== 'accepted') throw new Error(`${type} is ${gate.is}`)
    const { queue } = gate.notification
    const read = await fixture.store.read({ id, type, subtype: null, statedAt: at, body }, fixture.settings)
    if (read.is !== 'read') throw new Error(`${type} is ignored`)
    pushes.push(ofLineage(read.reports))
    answers.push(ofLineage(reportsOf(await fixture.store.refresh(queue, fixture.context))))
  }
  return { pushes, answers }
}

/** As the table of statements keeps them: equal ones once, in no order. */
function fold(statements: Statement[]): FoldedLineage {
  const kept = [...new Map(statements.map(tied).map(one => [`${one.kind}|${one.subject}|${one.statedAt}|${one.tie}`, one])).values()]
  const periods = kept.filter((one): one is PeriodStatement & { tie: string } => one.kind === 'period')
  const renewals = kept.filter((one): one is RenewalStatement & { tie: string } => one.kind === 'renewal')
  return foldLineage('stripe', statedPeriods(periods), renewals, null)
}

describe.each(STORIES)('$name', story => {
  const whole = ({ pushes, answers }: StoryStatements) => fold([...pushes, ...answers].flat())

  test('is recorded as it was', () => {
    const { periods } = whole(emittedOf.get(story.name)!)
    expect(periods).toHaveLength(story.expected.length)
    expect(periods).toMatchObject(story.expected)
  })

  test('in every order', () => {
    const { pushes, answers } = emittedOf.get(story.name)!
    const expected = whole({ pushes, answers })
    const turns = pushes.map((push, i) => [...push, ...answers[i]!])
    for (const order of permutations(turns)) expect(fold([...order.flat(), ...order[0]!])).toEqual(expected)
  })

  if (story.isSeenOnlyWhenFetched) return
  test('whichever answers in between were asked for', () => {
    const { pushes, answers } = emittedOf.get(story.name)!
    const expected = whole({ pushes, answers })
    const inBetween = answers.slice(0, -1)
    fc.assert(
      fc.property(fc.subarray(inBetween), some => {
        expect(fold([...pushes, ...some, answers.at(-1)!].flat())).toEqual(expected)
      }),
      { numRuns: share(60), seed: 7 },
    )
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { foldLineage } from '../../../../domain/purchases/store-facts/fold.ts'
import { type Tied, tied } from '../../../../domain/purchases/store-facts/order.ts'
import { statedPeriods } from '../../../../domain/purchases/store-facts/stated-period.ts'
import type { PeriodStatement, RenewalStatement, Statement, StoreReport } from '../../../../domain/purchases/store-facts/statement.ts'
import type { RecordedNotification } from '../../../../workflows/stores/store-client.ts'
import { reportsOf } from '../../../harness/stores/google-fixture.ts'
import { type PaddleFixture, paddleArrival, paddleFixture } from '../../../harness/stores/paddle-fixture.ts'
import { type PaddlePush, type PaddleStoryOptions, paddleStory } from '../../../harness/stores/paddle-story.ts'
import { permutations } from '../../store-facts/stories.ts'

const DAY = 86_400_000
const START = Date.parse('2026-01-01T10:00:00Z')
const day = (n: number) => START + n * DAY
const PRO = { product: 'pro', price: '1000' }
const MAX = { product: 'max', price: '2000' }
let now = START
let fixture: PaddleFixture
beforeAll(async () => {
  fixture = await paddleFixture(() => now)
})
afterAll(() => fixture.close())

type Story = ReturnType<typeof paddleStory>
/** `last`: a day after everything. Each step is one notification, and what the store answers when it is processed. */
const STORIES: {
  name: string
  expected: string[]
  options?: PaddleStoryOptions
  last: number
  steps: ((story: Story) => PaddlePush[])[]
}[] = [
  {
    name: 'trial, convert, cancel',
    expected: ['pro 0 2026-01-01..2026-01-08 trial, on', 'pro 10 2026-01-08..2026-02-07 normal, off, 1 switch'],
    options: { trialDays: 7 },
    last: 60,
    steps: [s => s.subscribe(START), s => s.renew(), s => s.scheduleCancel(day(10)), s => s.cancel(day(37))],
  },
  {
    name: 'off, on, renewed late, off',
    expected: ['pro 10 2026-01-01..2026-01-31 normal, on, 2 switches', 'pro 10 2026-01-31..2026-03-02 normal, off, 1 switch'],
    last: 40,
    steps: [
      s => s.subscribe(START),
      s => s.scheduleCancel(day(3)),
      s => s.unschedule(day(5)),
      s => s.bill(),
      s => s.recover(day(30) + 600_000),
      s => s.scheduleCancel(day(33)),
    ],
  },
  {
    name: 'renew, retry, recover',
    expected: [
      'pro 10 2026-01-01..2026-01-31 normal, on',
      'pro 10 2026-01-31..2026-03-02 normal, on, retry 2026-03-02',
      'pro 10 2026-03-02..2026-04-01 normal, off, 1 switch',
    ],
    last: 80,
    steps: [s => s.subscribe(START), s => s.renew(), s => s.fail(), s => s.recover(day(64)), s => s.scheduleCancel(day(70))],
  },
  {
    name: 'retry, expire',
    expected: ['pro 10 2026-01-01..2026-01-31 normal, off, 1 switch, retry 2026-01-31'],
    last: 70,
    steps: [s => s.subscribe(START), s => s.fail(), s => s.cancel(day(60))],
  },
  {
    name: 'upgrade, downgrade that is set and taken back, renew',
    expected: [
      'pro 10 2026-01-01..2026-01-11 normal, on',
      'max 20 2026-01-11..2026-01-31 normal, on',
      'max 20 2026-01-31..2026-03-02 normal, on',
    ],
    last: 40,
    steps: [
      s => s.subscribe(START),
      s => s.changeItems(day(10), [MAX], [MAX], [{ product: 'pro', amount: '100' }]),
      s => s.changeItems(day(15), [PRO]),
      s => s.changeItems(day(20), [MAX]),
      s => s.renew(),
    ],
  },
  {
    name: 'downgrade',
    expected: ['max 20 2026-01-01..2026-01-31 normal, on', 'pro 10 2026-01-31..2026-03-02 normal, on'],
    options: { items: [MAX] },
    last: 40,
    steps: [s => s.subscribe(START), s => s.changeItems(day(5), [PRO]), s => s.renew()],
  },
  {
    name: 'partial refund, full refund, reversed',
    expected: ['pro 10 2026-01-01..2026-01-31 normal, on, back 5'],
    last: 20,
    steps: [
      s => s.subscribe(START),
      s => s.refund(day(4), '400'),
      s => s.refund(day(5), '600', { action: 'chargeback' }),
      s => s.settle(day(6), 'reversed'),
      s => s.refund(day(8), '100'),
    ],
  },
  {
    name: 'pause, resume',
    expected: [
      'pro 10 2026-01-01..2026-01-31 normal, on',
      'pro 10 2026-01-31..2026-03-02 normal, on',
      'pro 10 2026-04-01..2026-05-01 normal, on',
      'pro 10 2026-05-01..2026-05-31 normal, off, 1 switch',
    ],
    last: 130,
    steps: [
      s => s.subscribe(START),
      s => s.renew(),
      s => s.schedulePause(day(40)),
      s => s.pause(),
      s => s.resume(day(90)),
      s => s.renew(),
      s => s.scheduleCancel(day(125)),
    ],
  },
]

type StoryStatements = { read: Statement[]; answer: Statement[] }

const ofMain = (reports: StoreReport[], lineage: string): Statement[] =>
  reports.filter(report => report.lineage === lineage).flatMap(({ statements }) => statements)

function at(ms: number): void {
  now = ms
  fixture.live.date = new Date(ms).toUTCString()
}

async function answered(lineage: string): Promise<Statement[]> {
  return ofMain(reportsOf(await fixture.paddle.refresh(lineage, fixture.context)), lineage)
}

async function readOf(push: PaddlePush, lineage: string): Promise<Statement[]> {
  const gate = await fixture.paddle.verify(paddleArrival(push.body, push.at), fixture.settings)
  if (gate.is !== 'accepted') throw new Error(gate.is)
  const recorded: RecordedNotification = { ...gate.notification, body: push.body }
  const read = await fixture.paddle.read(recorded, fixture.settings)
  return read.is === 'read' ? ofMain(read.reports, lineage) : []
}

/** What each step says, and what the store answers after it; in the end, a day later, once more. */
async function play({ options, last, steps }: (typeof STORIES)[number]): Promise<StoryStatements[]> {
  const story = paddleStory(fixture.live, options)
  const results: StoryStatements[] = []
  for (const step of steps) {
    const pushes = step(story)
    at(pushes.at(-1)!.at + 2000)
    const read = (await Promise.all(pushes.map(push => readOf(push, story.id)))).flat()
    results.push({ read, answer: await answered(story.id) })
  }
  at(day(last))
  return [...results, { read: [], answer: await answered(story.id) }]
}

const ties = new WeakMap<Statement, Tied>()
/** Hashes take most of the time of a fold. */
function tiedOnce(statement: Statement): Tied {
  const known = ties.get(statement) ?? tied(statement)
  ties.set(statement, known)
  return known
}

function fold(statements: Statement[]) {
  const kept = [...new Map(statements.map(tiedOnce).map(one => [`${one.kind}|${one.subject}|${one.statedAt}|${one.tie}`, one])).values()]
  const periods = kept.filter((one): one is PeriodStatement & { tie: string } => one.kind === 'period')
  const renewals = kept.filter((one): one is RenewalStatement & { tie: string } => one.kind === 'renewal')
  return foldLineage('paddle', statedPeriods(periods), renewals, START)
}

/** Without what only those see who ask in time: what was given back and taken back again. */
const lasting = (statements: Statement[]) =>
  fold(statements).periods.map(
    ({ refund: { takenBack: _, ...refund }, plannedProduct: _product, plannedChanges: _changes, ...period }) => ({
      ...period,
      refund,
    }),
  )

const shown = ({
  product,
  price,
  begins,
  ends,
  periodType,
  autoRenews,
  autoRenewChanges,
  refund,
  retry,
}: ReturnType<typeof lasting>[number]) =>
  [
    `${product} ${price} ${begins.slice(0, 10)}..${ends?.slice(0, 10)} ${periodType}`,
    autoRenews ? 'on' : 'off',
    ...(autoRenewChanges.length > 0 ? [`${autoRenewChanges.length} switch${autoRenewChanges.length > 1 ? 'es' : ''}`] : []),
    ...(refund.amount === null ? [] : [`back ${refund.amount}`]),
    ...(retry.since === null ? [] : [`retry ${retry.since.slice(0, 10)}`]),
  ].join(', ')

describe.each(STORIES)('$name', story => {
  let results: StoryStatements[]
  beforeAll(async () => {
    results = await play(story)
  })

  test('is the same in every order, with repetitions', () => {
    const all = results.map(({ read, answer }) => [...read, ...answer])
    const expected = fold(all.flat())
    expect(expected.completeUntil).toBe(Number.POSITIVE_INFINITY)
    const [last, ...notifications] = all.toReversed()
    for (const order of permutations(notifications)) expect(fold([...last!, ...order.flat(), ...order[0]!])).toEqual(expected)
  })

  test('is the same whichever answers were asked for in between', () => {
    const reads = results.flatMap(({ read }) => read)
    const last = results.at(-1)!.answer
    const expected = lasting(results.flatMap(({ read, answer }) => [...read, ...answer]))
    expect(lasting([...reads, ...last])).toEqual(expected)
    for (let mask = 0; mask < 1 << (results.length - 1); mask++) {
      const some = results.slice(0, -1).flatMap(({ answer }, i) => ((mask >> i) & 1 ? answer : []))
      expect(lasting([...last, ...reads, ...some])).toEqual(expected)
    }
  })

  test('is what the story says', () => {
    expect(lasting(results.flatMap(({ read, answer }) => [...read, ...answer])).map(shown)).toEqual(story.expected)
  })
})

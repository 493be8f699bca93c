import { userPasses } from './attributes.ts'
import { chosen, type Question } from './facts.ts'
import { DAY, type Instant } from './history.ts'
import type { Window } from './windows.ts'
import { type Charged, conversionOf, isNew, type World } from './world.ts'

/** A period that runs, or for which the store still tries to charge the next one. */
const isRunning =
  ({ history: { now } }: World) =>
  ({ period }: Charged): boolean =>
    period !== null && period.begin <= now && (now < period.end || (period.retry !== null && now < period.retry.until))

const isOpenTrial = (world: World, one: Charged): boolean =>
  one.kind === 'trial' && conversionOf(world, one) === undefined && isRunning(world)(one)

const trials = (world: World, { filters }: Question): Instant[] =>
  chosen(world, filters, one => isOpenTrial(world, one)).map(one => one.transaction.at)

function usersInFirstTrial(world: World, { filters }: Question): Instant[] {
  const passes = userPasses(world.history, filters)
  return world.history.users
    .filter(({ id, createdAt }) =>
      world.charged.some(
        one => passes(id) && one.transaction.user === id && isOpenTrial(world, one) && one.transaction.at < createdAt + 7 * DAY,
      ),
    )
    .map(user => user.createdAt)
}

type Outcome = { age: number; open: (world: World, question: Question) => Instant[] }
const never = (): Instant[] => []

/** `age`: nothing is known of what began so lately; `open`: when other things began whose outcome is not known. */
const OUTCOMES: Record<string, Outcome> = {
  'trial-to-paid': { age: 0, open: trials },
  'trial-cancellation': { age: 0, open: trials },
  'subscription-cancellation': {
    age: 0,
    open: (world, { filters }) =>
      chosen(world, filters, one => isNew(one) && isRunning(world)(one))
        .map(one => one.transaction.at)
        .filter(at => at > world.history.now - 31 * DAY),
  },
  'refund-rate': { age: 14 * DAY, open: never },
  'user-to-trial': { age: 7 * DAY, open: never },
  'user-to-paid': { age: 7 * DAY, open: usersInFirstTrial },
}
OUTCOMES['user-to-trial-conversion'] = OUTCOMES['user-to-trial']!
OUTCOMES['subscription-cancellation-rate'] = OUTCOMES['subscription-cancellation']!

/** The part of the window whose outcomes are known, in whole buckets, and the same length before; null: the chart follows no outcomes. */
export function completeOf(
  world: World,
  question: Question & { code: string; window: Window },
  buckets: Window[],
): { part: Window; before: Window } | null {
  const outcome = OUTCOMES[question.code]
  if (!outcome) return null
  const { from } = question.window
  const open = outcome.open(world, question)
  const settled = (part: Window) => part.to <= world.history.now - outcome.age && !open.some(at => at >= part.from && at < part.to)
  let to = from
  for (const bucket of buckets)
    if (bucket.from === to && settled({ from, to: bucket.to }) && settled({ from: from - (bucket.to - from), to: from })) to = bucket.to
  return { part: { from, to }, before: { from: from - (to - from), to: from } }
}

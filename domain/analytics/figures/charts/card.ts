import type { Environment } from '../../../kernel/environment.ts'
import { bucketStarts } from '../buckets.ts'
import { type FactAccess, withFacts } from '../open-source.ts'
import type { FigureQuestion } from '../question.ts'
import { scanContext } from './chart.ts'
import { PER_UNIT } from './money.ts'
import type { Quotient } from './rounding.ts'
import { scanOf } from './scan.ts'
import { ALL, emptyTally, tally } from './tally.ts'

const DAY = 86_400

/**
 * Trials that began, subscriptions that started or were converted, one-time purchases, gross revenue: of today in the zone (UTC by
 * default), and of yesterday up to the same time of day.
 */
export type Today = Record<'trials' | 'subscriptions' | 'oneTime' | 'revenue', { value: Quotient; before: Quotient }> & { behind: number }

/** The starts of yesterday and today in the zone. A day may have 23 or 25 hours, and a zone may have skipped a day. */
function lastDays(now: number, zone: string | null): [yesterday: number, today: number] {
  const starts = bucketStarts({ from: now - 4 * DAY, to: now + 1 }, 'day', zone ?? 'UTC')
  return [starts.at(-2)!, starts.at(-1)!]
}

export const today = (
  access: FactAccess,
  environment: Environment,
  question: Pick<FigureQuestion, 'currency' | 'rateDate' | 'now' | 'filters' | 'fresh' | 'zone'>,
): Promise<Today> =>
  withFacts(
    access,
    environment,
    async source => {
      const context = await scanContext(access, environment, source, question)
      const { now } = question
      const [yesterday, midnight] = lastDays(now, question.zone)
      const scan = scanOf('sold', context)
      const asLong = Math.min(yesterday + now + 1 - midnight, midnight)
      const grid = { starts: [yesterday, asLong, midnight], end: now + 1 }
      const tallies = await tally(context, scan, { grid, reach: 'within' })
      const sums = tallies.get(ALL) ?? emptyTally(grid.starts.length, scan.terms.length)
      const of = (term: number, bottom = 1n) => {
        const [before, , value] = sums[term]!.at
        return { value: { top: value!, bottom }, before: { top: before!, bottom } }
      }
      return { trials: of(0), subscriptions: of(1), oneTime: of(2), revenue: of(3, PER_UNIT), behind: source.behind }
    },
    { fresh: question.fresh },
  )

import type { Environment } from '../../environment.ts'
import { type FactAccess, withFacts } from '../open-source.ts'
import type { FigureQuestion } from '../question.ts'
import { scanContext } from './chart.ts'
import { PER_UNIT } from './money.ts'
import type { Quotient } from './rounding.ts'
import { scanOf } from './scan.ts'
import { ALL, emptyTally, tally } from './tally.ts'

const DAY = 86_400

/** Trials begun, subscriptions started or converted, one-time purchases, gross revenue: of today (UTC), and of yesterday until this time of day. */
export type Today = Record<'trials' | 'subscriptions' | 'oneTime' | 'revenue', { value: Quotient; before: Quotient }>

export const today = (
  access: FactAccess,
  environment: Environment,
  question: Pick<FigureQuestion, 'currency' | 'rateDate' | 'now' | 'filters' | 'fresh'>,
): Promise<Today> =>
  withFacts(
    access,
    environment,
    async source => {
      const context = await scanContext(access, environment, source, question)
      const { now } = question
      const midnight = now - (now % DAY)
      const scan = scanOf('sold', context)
      const grid = { starts: [midnight - DAY, now + 1 - DAY, midnight], end: now + 1 }
      const tallies = await tally(context, scan, { grid, reach: 'within' })
      const sums = tallies.get(ALL) ?? emptyTally(grid.starts.length, scan.terms.length)
      const of = (term: number, bottom = 1n) => {
        const [before, , value] = sums[term]!.at
        return { value: { top: value!, bottom }, before: { top: before!, bottom } }
      }
      return { trials: of(0), subscriptions: of(1), oneTime: of(2), revenue: of(3, PER_UNIT) }
    },
    { fresh: question.fresh },
  )

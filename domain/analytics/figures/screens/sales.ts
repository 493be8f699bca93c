import type { Environment } from '../../../kernel/environment.ts'
import { scanContext } from '../charts/chart.ts'
import type { Frame } from '../charts/frame.ts'
import { amounts } from '../charts/scan.ts'
import { measuredCount, type Scan, type ScanContext } from '../charts/scan-rows.ts'
import { ALL, emptyTally, tally } from '../charts/tally.ts'
import { type LeftOutMoney, unconvertedTransactions } from '../charts/unconverted.ts'
import { type FactAccess, withFacts } from '../open-source.ts'
import type { FigureQuestion } from '../question.ts'

/** The sums in each interval of a grid, money in its unit PER_UNIT. Cancelled are so of the trials and starts, as known now. */
const SALES_TERMS = ['trials', 'purchases', 'revenue', 'refunds', 'trialsAndStarts', 'cancelled'] as const
export type SalesOfScreens = Record<(typeof SALES_TERMS)[number], bigint[]>

/** Transactions that belong to any screen, or to the one with this id. Refunds are read for one screen only. */
export type WhichScreens = { all: true } | { screen: string }

/** Kinds of transactions. */
const PURCHASES = [2, 3, 5]
const CREDIT = 7
const CANCELLABLE = [1, 2]

/** No renewal has a screen. A refund has that of its transaction. */
async function scanOfScreens(context: ScanContext, which: WhichScreens): Promise<Scan> {
  const [AMOUNT, ROWS, CANCELLED] = [0, 1, 2]
  const scan = amounts(context, 'all' in which ? 't.kind in (1, 2, 3, 5, 7)' : 't.kind in (1, 2, 3, 5, 6, 7)', {
    measured: [measuredCount(), measuredCount(`t.cancelled_at <= ${context.now}`)],
    split: 't.kind',
    terms: [
      { plus: ROWS, within: [1] },
      { plus: ROWS, within: PURCHASES },
      { plus: AMOUNT, within: [...PURCHASES, CREDIT] },
      { plus: AMOUNT, within: [6] },
      { plus: ROWS, within: CANCELLABLE },
      { plus: CANCELLED, within: CANCELLABLE },
    ],
  })
  return { ...scan, where: [...scan.where, await condition(context, which)] }
}

async function condition({ source }: ScanContext, which: WhichScreens): Promise<string> {
  if ('all' in which) return 't.screen <> 0'
  const number = (await source.numbersOf([which.screen])).get(which.screen)
  return number === undefined ? 'false' : `t.screen = ${number}`
}

/** The sales of screens in the intervals of the frame's grid, and the amounts of its window that could not be converted. */
export const salesOfScreens = (
  access: FactAccess,
  environment: Environment,
  question: FigureQuestion,
  frame: Frame,
  which: WhichScreens,
): Promise<{ sales: SalesOfScreens; unconverted: LeftOutMoney[]; behind: number }> =>
  withFacts(access, environment, async source => {
    const context = await scanContext(access, environment, source, question)
    const scan = await scanOfScreens(context, which)
    const tallies = await tally(context, scan, { grid: frame.grid, reach: 'within', withLeftOut: true })
    const sums = tallies.get(ALL) ?? emptyTally(frame.grid.starts.length, scan.terms.length + 1)
    const isLeft = sums
      .at(-1)!
      .at.slice(frame.lead)
      .some(count => count !== 0n)
    return {
      sales: Object.fromEntries(SALES_TERMS.map((term, i) => [term, sums[i]!.at])) as SalesOfScreens,
      unconverted: isLeft ? await unconvertedTransactions(context, scan, frame.window) : [],
      behind: source.behind,
    }
  })

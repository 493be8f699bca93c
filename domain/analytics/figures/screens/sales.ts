import type { Environment } from '../../../kernel/environment.ts'
import { scanContext } from '../charts/chart.ts'
import type { Frame } from '../charts/frame.ts'
import { amounts } from '../charts/scan.ts'
import { measuredCount, type Scan, type ScanContext } from '../charts/scan-rows.ts'
import { ALL, emptyTally, type Tally, tally } from '../charts/tally.ts'
import { type LeftOutMoney, unconvertedTransactions } from '../charts/unconverted.ts'
import { type FactAccess, withFacts } from '../open-source.ts'
import type { FigureQuestion } from '../question.ts'

/** The sums in each interval of a grid, money in its unit PER_UNIT. Cancelled are so of the trials and starts, as known now. */
const SALES_TERMS = ['trials', 'purchases', 'revenue', 'refunds', 'trialsAndStarts', 'cancelled'] as const
export type SalesOfScreens = Record<(typeof SALES_TERMS)[number], bigint[]>

/** Transactions that belong to any screen, those of `each` apart as well, or to the one with this id. Refunds are read for one screen only. */
export type WhichScreens = { each: readonly string[] } | { screen: string }

/** Kinds of transactions. */
const PURCHASES = [2, 3, 5]
const CREDIT = 7
const CANCELLABLE = [1, 2]

/** No renewal has a screen. A refund has that of its transaction. */
async function scanOfScreens(context: ScanContext, which: WhichScreens): Promise<Scan> {
  const [AMOUNT, ROWS, CANCELLED] = [0, 1, 2]
  const scan = amounts(context, 'each' in which ? 't.kind in (1, 2, 3, 5, 7)' : 't.kind in (1, 2, 3, 5, 6, 7)', {
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
  if ('each' in which) return 't.screen <> 0'
  const number = (await source.numbersOf([which.screen])).get(which.screen)
  return number === undefined ? 'false' : `t.screen = ${number}`
}

/** `unconverted`: the amounts of the window of the frame that could not be converted. `of`: by the ids that were to stand apart. */
type ScreenSales = { sales: SalesOfScreens; of: Map<string, SalesOfScreens>; unconverted: LeftOutMoney[]; behind: number; asOf: number }

/** The sales of screens in the intervals of the frame's grid. */
export const salesOfScreens = (
  access: FactAccess,
  environment: Environment,
  question: FigureQuestion,
  frame: Frame,
  which: WhichScreens,
): Promise<ScreenSales> =>
  withFacts(access, environment, async source => {
    const context = await scanContext(access, environment, source, question)
    const scan = await scanOfScreens(context, which)
    const intervals = frame.grid.starts.length
    const tallies = await tally(context, scan, { grid: frame.grid, reach: 'within', withLeftOut: true })
    const sums = tallies.get(ALL) ?? emptyTally(intervals, scan.terms.length + 1)
    const isLeft = sums
      .at(-1)!
      .at.slice(frame.lead)
      .some(count => count !== 0n)
    const apart = await talliesOf(context, scan, frame, 'each' in which ? which.each : [])
    return {
      sales: salesOf(sums),
      of: new Map([...apart].map(([id, own]) => [id, salesOf(own ?? emptyTally(intervals, scan.terms.length))])),
      unconverted: isLeft ? await unconvertedTransactions(context, scan, frame.window) : [],
      behind: source.behind,
      asOf: source.asOf,
    }
  })

const salesOf = (sums: Tally): SalesOfScreens => Object.fromEntries(SALES_TERMS.map((term, i) => [term, sums[i]!.at])) as SalesOfScreens

/** The tally of each screen; undefined: nothing was bought on it. */
async function talliesOf(
  context: ScanContext,
  scan: Scan,
  { grid }: Frame,
  ids: readonly string[],
): Promise<Map<string, Tally | undefined>> {
  const numbers = await context.source.numbersOf([...ids])
  if (numbers.size === 0) return new Map(ids.map(id => [id, undefined]))
  const listed = { ...scan, where: [...scan.where, `t.screen in (${[...numbers.values()].join(', ')})`] }
  const division = { sql: 't.screen', joins: '', relations: [] }
  const tallies = await tally(context, listed, { grid, reach: 'within', division })
  return new Map(ids.map(id => [id, tallies.get(numbers.get(id) ?? 0)]))
}

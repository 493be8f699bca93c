import type { Environment } from '../../../kernel/environment.ts'
import { invalidField } from '../../../kernel/refusal.ts'
import type { ColumnAttribute } from '../attributes.ts'
import type { Bucket } from '../buckets.ts'
import type { ChartOf } from '../chart-table.ts'
import { loadExchange } from '../factors.ts'
import { type Answering, type FactAccess, withFacts } from '../open-source.ts'
import { loadProductVocabulary } from '../product-vocabulary.ts'
import type { FigureQuestion } from '../question.ts'
import { loadRestriction } from '../restriction.ts'
import type { FactSource } from '../source.ts'
import { completePart } from './complete.ts'
import { frameOf } from './frame.ts'
import { incompleteFrom } from './incomplete.ts'
import { type FigureLine, type LinePlan, linesOf } from './lines.ts'
import { MEASURES } from './measure.ts'
import { sharesOf } from './money.ts'
import { dividesStates } from './movement.ts'
import type { ScanContext } from './scan-rows.ts'
import { type LabelledLine, segmentedLines, WHOLE_LABEL } from './segmented.ts'
import { ALL } from './tally.ts'
import { hasUnrated, type LeftOutMoney, unconvertedOf } from './unconverted.ts'

/**
 * A chart before rounding. `buckets`: those of the window; `previous`: the same buckets in the window before. `whole`: the line of all series
 * together. `completeTo`: the end of the part whose outcomes are known; null: the chart follows no outcomes.
 */
export type ChartFigures = {
  buckets: Bucket[]
  previous: Bucket[]
  series: LabelledLine[]
  summary: LabelledLine | null
  whole: FigureLine
  unconverted: LeftOutMoney[]
  asOf: number
  behind: number
  incompleteFrom: number | null
  completeTo: number | null
}

/** The context that all statements of a question share. */
export async function scanContext(
  { pool, scanning, proceedsRates }: FactAccess,
  environment: Environment,
  source: FactSource,
  question: Pick<FigureQuestion, 'currency' | 'rateDate' | 'now' | 'filters'>,
): Promise<ScanContext> {
  const loading = loadProductVocabulary(pool, environment)
  // A failure is thrown where the result is awaited.
  loading.catch(() => {})
  const exchange = await loadExchange(pool, source, question)
  const shares = await sharesOf(source, proceedsRates)
  const products = await loading
  return {
    source,
    products,
    money: { dialect: source.dialect, exchange, shares, areProceedsStated: source.bounds?.areProceedsStated ?? true },
    restriction: await loadRestriction({ source, scanning, products }, environment, question.filters),
    now: question.now,
  }
}

/** The coefficients of all series together; in a segmented chart, the coefficients that its values use. */
function wholeOf({ code, ofValues }: ChartOf, segmentation: ColumnAttribute | null): readonly number[] {
  const rows: readonly (readonly number[])[] = MEASURES[code].series
  if (segmentation !== null && ofValues !== null) return rows[ofValues]!
  return rows[0]!.map((_, i) => rows.reduce((sum, row) => sum + row[i]!, 0))
}

/** The series of the whole, which a chart shows in addition to the other series. */
function summaryOf(chart: ChartOf, segmentation: ColumnAttribute | null, whole: FigureLine): LabelledLine | null {
  const label = segmentation ? WHOLE_LABEL : chart.summary
  return label === null ? null : { label, line: whole }
}

/** A chart from facts that are open. `common`: what all charts with the same filters, currency and rates share. */
async function chartOn(source: Answering, common: ScanContext, chart: ChartOf, question: FigureQuestion): Promise<ChartFigures> {
  const measure = MEASURES[chart.code]
  const frame = frameOf(question)
  // A stock needs only the end of the window before.
  const first = question.previous ? frame.before.from : frame.window.from
  const snapshot = chart.kind === 'stock' ? source.stockSnapshot(first, question.now) : null
  const isSegmentedByState = question.segmentation !== null && !question.segmentation.columns.hasOneState
  const context = { ...common, snapshot, areStatesTogether: !isSegmentedByState && !dividesStates(common.restriction) }
  const complete = await completePart(context, chart.code, frame)
  const plan: LinePlan = { measure, kind: chart.kind, isShare: chart.measure === 'percent', frame, scans: measure.scans, complete }
  const { segmentation, maxSeries, window } = question
  const rows = [...measure.series, wholeOf(chart, segmentation)]
  const parts = measure.segmented ?? { scans: measure.scans, whole: rows.at(-1)! }
  const segmented =
    segmentation && (await segmentedLines(context, { ...plan, scans: parts.scans }, parts.whole, { attribute: segmentation, maxSeries }))
  const lines = segmented?.whole ? null : await linesOf(context, plan, rows)
  const own = lines?.of([ALL]) ?? []
  const whole = segmented?.whole ?? own.at(-1)!
  const left = (segmented?.leftOut ?? lines!.leftOut([ALL])).slice(frame.lead, frame.lead + frame.buckets.length)
  const isLeft = chart.kind === 'stock' ? left.at(-1) : left.find(count => count !== 0n)
  // Both states of a change are in these sums: amounts that are left out of the two states may cancel each other.
  const isUnsure = lines === null && chart.measure === 'usd' && measure.segmented !== undefined
  const mayBeLeft = isUnsure ? await hasUnrated(context) : isLeft
  return {
    buckets: frame.buckets,
    previous: frame.previous,
    series: segmented?.series ?? chart.series.map((label, i) => ({ label, line: own[i]! })),
    summary: summaryOf(chart, segmentation, whole),
    whole,
    unconverted: mayBeLeft ? await unconvertedOf(context, { code: measure.scans[0]!, kind: chart.kind, window }) : [],
    asOf: source.asOf,
    behind: source.behind,
    incompleteFrom: await incompleteFrom(context, chart.code, { buckets: frame.buckets, ...window }),
    completeTo: complete?.to ?? null,
  }
}

/** Points that several charts have together: an answer of some 50 MB. One chart alone has as many as its series and buckets are. */
const MOST_POINTS = 500_000

const pointsOf = ({ series, buckets, previous }: ChartFigures): number => (series.length + 1) * (buckets.length + previous.length)

/** A chart and its question. */
export type Asking = { chart: ChartOf; question: FigureQuestion }

/**
 * Computes charts one after the other, each with its question, all from the facts of one moment. Throws `upstream_timeout` after 30 s for all of
 * them. Null: they have too many points for one answer.
 */
export const figuresAtOnce = (
  access: FactAccess,
  environment: Environment,
  asked: readonly Asking[],
  fresh: boolean,
): Promise<ChartFigures[] | null> =>
  withFacts(
    access,
    environment,
    async source => {
      const contexts = new Map<FigureQuestion, ScanContext>()
      const figures: ChartFigures[] = []
      let points = 0
      for (const { chart, question } of asked) {
        const common = contexts.get(question) ?? (await scanContext(access, environment, source, question))
        contexts.set(question, common)
        const one = await chartOn(source, common, chart, question)
        points += pointsOf(one)
        if (asked.length > 1 && points > MOST_POINTS) return null
        figures.push(one)
      }
      return figures
    },
    { fresh, active: asked.some(({ chart }) => MEASURES[chart.code].denominator === 'active users') },
  )

/**
 * Computes charts with one question. Throws `upstream_timeout` after 30 s for all of them, and `invalid_data` where they have too many points for one
 * answer.
 */
export async function chartsFigures(
  access: FactAccess,
  environment: Environment,
  charts: readonly ChartOf[],
  question: FigureQuestion,
): Promise<ChartFigures[]> {
  // Thrown afterwards: what fails on a replica is repeated on Postgres.
  const computed = await figuresAtOnce(
    access,
    environment,
    charts.map(chart => ({ chart, question })),
    question.fresh,
  )
  if (computed) return computed
  throw invalidField(
    'codes[]',
    `have more than ${MOST_POINTS} points together: choose fewer, a longer unit, a shorter window or a smaller max_series`,
  )
}

/** Computes a chart. Throws `upstream_timeout` after 30 s. */
export async function chartFigures(
  access: FactAccess,
  environment: Environment,
  chart: ChartOf,
  question: FigureQuestion,
): Promise<ChartFigures> {
  const [figures] = await chartsFigures(access, environment, [chart], question)
  return figures!
}

import type { Environment } from '../../../kernel/environment.ts'
import { PLATFORMS } from '../../../kernel/platform.ts'
import { type ColumnAttribute, labelOf, UNKNOWN } from '../attributes.ts'
import { scanContext } from '../charts/chart.ts'
import { frameOf } from '../charts/frame.ts'
import type { LinePlan } from '../charts/lines.ts'
import { MEASURES } from '../charts/measure.ts'
import type { ScanContext } from '../charts/scan-rows.ts'
import { OTHER_LABEL, valuesShown } from '../charts/segmented.ts'
import { type FactAccess, withFacts } from '../open-source.ts'
import { numbersOfValues } from '../restriction.ts'
import { coefficientsOf, type RequestedNumber, type SegmentValues } from './number.ts'

/** The context of the statements that drill down into a number: restricted to its segment, which `segment` names. */
export type NumberContext = { context: ScanContext; segment: SegmentValues | null; behind: number }

/** Replicas do not have the columns that show where a fact comes from. */
export const withNumber = <T>(
  access: FactAccess,
  environment: Environment,
  requested: RequestedNumber,
  work: (number: NumberContext) => Promise<T>,
): Promise<T> =>
  withFacts({ ...access, replicas: null }, environment, async source => {
    const context = await scanContext(access, environment, source, requested.question)
    const { segmentation } = requested.question
    const { behind } = source
    if (requested.segment === null || segmentation === null) return work({ context, segment: null, behind })
    const segment = await segmentValues(context, requested, requested.segment, segmentation)
    const { code, values, isRest } = segment
    const known = { products: context.products, numbers: await source.numbersOf(values) }
    const restriction = { ...context.restriction, segment: { code, numbers: numbersOfValues(code, values, known), isRest } }
    return work({ context: { ...context, restriction }, segment, behind })
  })

/** Whether any fact of the environment has the value. */
async function occurs({ source, products }: ScanContext, { code }: ColumnAttribute, value: string): Promise<boolean> {
  if (code === 'product_id') return [...products.idOf.values()].includes(value)
  return (await source.numbersOf([value])).has(value)
}

/** The value that has the text as its code or label, and what the chart calls `Other` only where no value does. */
async function segmentValues(
  context: ScanContext,
  requested: RequestedNumber,
  text: string,
  attribute: ColumnAttribute,
): Promise<SegmentValues> {
  const { code } = attribute
  if (text === UNKNOWN || (await occurs(context, attribute, text))) return { code, values: [text], isRest: false }
  if (text === labelOf(code, null)) return { code, values: [UNKNOWN], isRest: false }
  if (text.toLowerCase() === OTHER_LABEL.toLowerCase())
    return { code, values: await shownCodes(context, requested, attribute), isRest: true }
  return {
    code,
    values: [PLATFORMS.find(platform => code === 'target_platform' && labelOf(code, platform) === text) ?? text],
    isRest: false,
  }
}

async function shownCodes(context: ScanContext, requested: RequestedNumber, attribute: ColumnAttribute): Promise<string[]> {
  const { chart, question } = requested
  const measure = MEASURES[chart.code]
  const { scans, whole } = measure.segmented ?? { scans: measure.scans, whole: coefficientsOf({ chart, series: chart.ofValues }) }
  const plan: LinePlan = { measure, kind: chart.kind, isShare: chart.measure === 'percent', frame: frameOf(question), scans }
  const { shown } = await valuesShown(context, plan, whole, { attribute, maxSeries: question.maxSeries })
  return shown.map(({ code }) => code)
}

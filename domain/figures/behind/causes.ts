import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../environment.ts'
import { MEASURES, type ScanCode, unitOf } from '../charts/measure.ts'
import type { Quotient } from '../charts/rounding.ts'
import { scanRelations } from '../charts/scan.ts'
import type { ScanContext } from '../charts/scan-rows.ts'
import { factRows, factRowsSql } from './fact-rows.ts'
import { type Dated, pricesAt, type RateEdges, rateEdges } from './former-rates.ts'
import type { NumberAsked } from './number.ts'

/**
 * What changed a number on a day of UTC. `facts`: that came or went; null: not counted, or rates changed. `contribution`: to the numerator; null:
 * not kept.
 */
export type NumberChange = {
  day: string
  cause: 'late_facts' | 'erasure' | 'exchange_rates'
  facts: number | null
  contribution: Quotient | null
}

const DAY = 86_400
const dateOf = (day: bigint): string => new Date(Number(day) * DAY * 1000).toISOString().slice(0, 10)

/** Scans of what is kept of erased users. */
const KEPT: readonly ScanCode[] = ['billed', 'refunded', 'proceeds', 'begun']
const KEPT_ATTRIBUTES = ['target_platform', 'product_id', 'purchase_currency', 'country']

/** Whether what is kept of erased users tells the number: it is kept by whole days, with few attributes. */
function isKept({ chart, question, window, segment }: NumberAsked): boolean {
  const attributes = [...question.filters.keys(), ...(segment !== null && question.segmentation ? [question.segmentation.code] : [])]
  return (
    window.from % DAY === 0 &&
    window.to % DAY === 0 &&
    MEASURES[chart.code].scans.every(scan => KEPT.includes(scan)) &&
    attributes.every(code => KEPT_ATTRIBUTES.includes(code))
  )
}

const erasedSince = (environment: Environment, since: number) => `environment = ${environment} and erased_at > to_timestamp(${since})`

/** The context in which the facts are those of users who were erased after a time. They are recorded when they were erased. */
function ofErased(context: ScanContext, environment: Environment, since: number): ScanContext {
  const { dialect } = context.source
  const transactions = `(select r.* from (
      select * from erased_facts where ${erasedSince(environment, since)} and kind is not null and recorded < ${since}) e
    cross join lateral jsonb_populate_record(null::transaction_facts,
      to_jsonb(e) || jsonb_build_object('recorded', floor(extract(epoch from e.erased_at)))) r)`
  return { ...context, source: { ...context.source, dialect: { ...dialect, tables: { ...dialect.tables, transactions } } } }
}

/** Sums of contributions by the day on which facts were recorded, their currency and the day of their rate. */
async function datedSums(context: ScanContext, asked: NumberAsked, recorded: string): Promise<(Dated & { day: bigint; facts: bigint })[]> {
  const rows = (await factRows(context, asked)).filter(({ role }) => role !== 'denominator')
  if (rows.length === 0) return []
  const text = `select f.recorded / ${DAY} as day, f.currency, f.bought_on, count(*) as facts, sum(f.contribution) as contribution
    from (${factRowsSql(rows).join(' union all ')}) f where ${recorded} group by 1, 2, 3`
  const found = await context.source.query({ text, relations: scanRelations(context) })
  const words = await context.source.wordsOf([...new Set(found.flatMap(({ currency }) => (currency ? [Number(currency)] : [])))])
  return found.map(row => ({
    day: row.day as bigint,
    facts: row.facts as bigint,
    currency: words.get(Number(row.currency ?? 0n)) ?? null,
    boughtOn: asked.question.rateDate ?? (row.bought_on === null ? null : dateOf(row.bought_on as bigint)),
    contribution: row.contribution as bigint,
  }))
}

const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n)

/** What erasures took from the number since a time, at the rates of that time. */
async function erasures(
  db: Db,
  context: ScanContext,
  environment: Environment,
  asked: NumberAsked,
  since: number,
  edges: RateEdges,
): Promise<NumberChange[]> {
  if (!isKept(asked)) {
    const days = await context.source.query({
      text: `select distinct floor(extract(epoch from erased_at) / ${DAY})::bigint as day from erased_facts where ${erasedSince(environment, since)}`,
    })
    return days.map(({ day }) => ({ day: dateOf(day as bigint), cause: 'erasure', facts: null, contribution: null }))
  }
  const sums = await datedSums(ofErased(context, environment, since), asked, 'true')
  const then = (await pricesAt(db, sums, asked.question.currency, edges))?.[0] ?? sums.map(one => one.contribution)
  const bottom = unitOf(MEASURES[asked.chart.code], context.products)
  return [
    ...Map.groupBy(
      sums.map((one, i) => ({ ...one, then: then[i]! })),
      one => one.day,
    ),
  ].map(([day, of]) => ({
    ...{ day: dateOf(day), cause: 'erasure' as const, facts: Number(sum(of.map(one => one.facts))) },
    contribution: { top: -sum(of.map(one => one.then)), bottom },
  }))
}

/** What changed rates have done since a time to the facts that were known before. */
async function rateChanges(db: Db, context: ScanContext, asked: NumberAsked, since: number, edges: RateEdges): Promise<NumberChange[]> {
  if (asked.chart.measure !== 'usd' || edges.days.length === 0) return []
  // The two sides of a movement have two days, and rates of their own.
  const isMixed = MEASURES[asked.chart.code].scans.includes('movement')
  const sums = isMixed ? [] : await datedSums(context, asked, `f.recorded < ${since}`)
  const prices = await pricesAt(db, sums, asked.question.currency, edges)
  const bottom = unitOf(MEASURES[asked.chart.code], context.products)
  return edges.days.flatMap((day, i): NumberChange[] => {
    const change = { day, cause: 'exchange_rates' as const, facts: null }
    if (isMixed || prices === null) return [{ ...change, contribution: null }]
    const top = sum(prices[i + 1]!) - sum(prices[i]!)
    return top === 0n ? [] : [{ ...change, contribution: { top, bottom } }]
  })
}

/** Everything but late facts that changed a number since a time (Unix seconds of the environment). */
export async function otherCauses(
  db: Db,
  context: ScanContext,
  environment: Environment,
  asked: NumberAsked,
  since: number,
): Promise<NumberChange[]> {
  if (since > context.now || asked.window.from > context.now) return []
  const edges: RateEdges = asked.chart.measure === 'usd' ? await rateEdges(db, context.now - since) : { days: [], ago: 0 }
  return [...(await rateChanges(db, context, asked, since, edges)), ...(await erasures(db, context, environment, asked, since, edges))]
}

import type { Db } from '../../../../store/connect.ts'
import type { Environment } from '../../../kernel/environment.ts'
import { MEASURES, type ScanCode, unitOf } from '../charts/measure.ts'
import type { Quotient } from '../charts/rounding.ts'
import { scanRelations } from '../charts/scan.ts'
import type { ScanContext } from '../charts/scan-rows.ts'
import { loadExchange } from '../factors.ts'
import { factRows, factRowsSql } from './fact-rows.ts'
import { type Dated, type FormerRates, formerContributions, formerRates } from './former-rates.ts'
import type { RequestedNumber } from './number.ts'

/**
 * A cause that changed a number on a day of UTC. `facts`: how many facts came or went; null: not counted, or rates changed. `contribution`:
 * the change of the numerator; null: not kept.
 */
export type NumberChange = {
  day: string
  cause: 'late_facts' | 'erasure' | 'exchange_rates'
  facts: number | null
  contribution: Quotient | null
}

const DAY = 86_400
/** Days since 1970-01-01 as YYYY-MM-DD. */
const dateOf = (day: bigint): string => new Date(Number(day) * DAY * 1000).toISOString().slice(0, 10)

/** Scans of the facts that are kept of erased users. */
const KEPT: readonly ScanCode[] = ['billed', 'refunded', 'proceeds', 'begun']
const KEPT_ATTRIBUTES = ['target_platform', 'product_id', 'purchase_currency', 'country']

/** Whether the facts that are kept of erased users give the number: they are kept by whole days, with few attributes. */
function isKept({ chart, question, window, segment }: RequestedNumber): boolean {
  const attributes = [...question.filters.keys(), ...(segment !== null && question.segmentation ? [question.segmentation.code] : [])]
  return (
    window.from % DAY === 0 &&
    window.to % DAY === 0 &&
    MEASURES[chart.code].scans.every(scan => KEPT.includes(scan)) &&
    attributes.every(code => KEPT_ATTRIBUTES.includes(code))
  )
}

// An erasure has the beginning of its day. Of windows of whole days, no amount is counted twice or not at all.
const erasedSince = (environment: Environment, since: number) => `environment = ${environment} and erased_at > to_timestamp(${since - DAY})`

/**
 * The context in which the facts are those of users who were erased after a time. They are recorded when they were erased. Their days have rates of
 * their own: they may lie before those of the facts that are left.
 */
async function ofErased(
  db: Db,
  context: ScanContext,
  environment: Environment,
  requested: RequestedNumber,
  since: number,
): Promise<ScanContext> {
  const { dialect } = context.source
  const transactions = `(select r.* from (
      select * from erased_facts where ${erasedSince(environment, since)} and kind is not null and recorded < ${since}) e
    cross join lateral jsonb_populate_record(null::transaction_facts,
      to_jsonb(e) || jsonb_build_object('recorded', floor(extract(epoch from e.erased_at)))) r
    cross join lateral generate_series(1, e.facts))`
  const source = { ...context.source, dialect: { ...dialect, tables: { ...dialect.tables, transactions } } }
  return { ...context, source, money: { ...context.money, exchange: await loadExchange(db, source, requested.question) } }
}

type DatedSum = Dated & { day: bigint; facts: bigint }

/** Sums of contributions by their currency, the day of their rate, and what else tells them apart (`by`, SQL). Without a rate, stated amounts in USD count. */
async function datedSums(
  context: ScanContext,
  requested: RequestedNumber,
  { by, where }: { by: string; where: string },
): Promise<DatedSum[]> {
  const rows = (await factRows(context, requested)).filter(({ role }) => role !== 'denominator')
  if (rows.length === 0) return []
  const text = `select (${by})::bigint as day, f.currency, f.bought_on, count(*) as facts, sum(f.contribution) as contribution
    from (${factRowsSql(rows).join(' union all ')}) f where ${where} group by 1, 2, 3`
  const found = await context.source.query({ text, relations: scanRelations(context) })
  const { rated } = context.money.exchange
  const texts = await context.source.textsOf(
    [...new Set(found.map(({ currency }) => Number(currency ?? 0n)))].filter(no => rated.includes(no)),
  )
  return found.map(row => ({
    day: row.day as bigint,
    facts: row.facts as bigint,
    currency: texts.get(Number(row.currency ?? 0n)) ?? 'USD',
    boughtOn: requested.question.rateDate ?? dateOf((row.bought_on as bigint | null) ?? 0n),
    contribution: row.contribution as bigint,
  }))
}

/** null: one of them is not known. */
const sum = (values: readonly (bigint | null)[]): bigint | null =>
  values.reduce((total, value) => (total === null || value === null ? null : total + value), 0n)

/** The amount that erasures took from the number since a time, at the rates of that time. */
async function erasures(
  db: Db,
  context: ScanContext,
  environment: Environment,
  requested: RequestedNumber,
  since: number,
  rates: FormerRates,
): Promise<NumberChange[]> {
  if (!isKept(requested)) {
    const days = await context.source.query({
      text: `select distinct floor(extract(epoch from erased_at) / ${DAY})::bigint as day from erased_facts where ${erasedSince(environment, since)}`,
    })
    return days.map(({ day }) => ({ day: dateOf(day as bigint), cause: 'erasure', facts: null, contribution: null }))
  }
  const erased = await ofErased(db, context, environment, requested, since)
  const sums = await datedSums(erased, requested, { by: `f.recorded / ${DAY}`, where: 'true' })
  const prices = await formerContributions(db, sums, requested.question.currency, rates)
  const bottom = unitOf(MEASURES[requested.chart.code], context.products)
  return [
    ...Map.groupBy(
      sums.map((one, i) => ({ ...one, then: prices[i]!.values[0]! })),
      one => one.day,
    ),
  ].map(([day, of]) => {
    const then = sum(of.map(one => one.then))
    const facts = of.reduce((count, one) => count + Number(one.facts), 0)
    return { day: dateOf(day), cause: 'erasure', facts, contribution: then === null ? null : { top: -then, bottom } }
  })
}

/** The effect of changed rates, since a time, on the facts that were known before. */
async function rateChanges(
  db: Db,
  context: ScanContext,
  requested: RequestedNumber,
  since: number,
  rates: FormerRates,
): Promise<NumberChange[]> {
  if (rates.days.length === 0) return []
  const change = (i: number) => ({ day: rates.days[i]!, cause: 'exchange_rates' as const, facts: null })
  // The two states of a movement have two days, and rates of their own.
  if (MEASURES[requested.chart.code].scans.includes('movement')) return rates.days.map((_, i) => ({ ...change(i), contribution: null }))
  const sums = await datedSums(context, requested, { by: '0', where: `f.recorded < ${since}` })
  const prices = await formerContributions(db, sums, requested.question.currency, rates)
  const bottom = unitOf(MEASURES[requested.chart.code], context.products)
  const steps: (bigint | null)[][] = rates.days.map(() => [])
  for (const { edges, values } of prices)
    for (const [n, edge] of edges.entries()) {
      const [before, after] = [values[n]!, values[n + 1]!]
      steps[edge]!.push(before === null || after === null ? null : after - before)
    }
  return steps.flatMap((of, i): NumberChange[] => {
    const top = sum(of)
    return top === 0n ? [] : [{ ...change(i), contribution: top === null ? null : { top, bottom } }]
  })
}

/** Everything but late facts that changed a number since a time (Unix seconds of the environment), and from when on that is known. */
export async function otherCauses(
  db: Db,
  context: ScanContext,
  environment: Environment,
  requested: RequestedNumber,
  since: number,
): Promise<{ changes: NumberChange[]; knownSince: number }> {
  const { chart, question, window } = requested
  const rates = await formerRates(db, environment, {
    ago: context.now - since,
    currencies: chart.measure === 'usd' ? context.money.exchange.rated : [],
    target: question.currency,
    last: question.rateDate ?? dateOf(BigInt(Math.floor((window.to - 1) / DAY))),
  })
  const { knownSince } = rates
  if (since > context.now || window.from > context.now) return { changes: [], knownSince }
  const changes = [
    ...(await rateChanges(db, context, requested, since, rates)),
    ...(await erasures(db, context, environment, requested, since, rates)),
  ]
  return { changes, knownSince }
}

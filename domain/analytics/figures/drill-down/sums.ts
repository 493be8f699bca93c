import type { Db } from '../../../../store/connect.ts'
import { MEASURES, unitOf } from '../charts/measure.ts'
import { PER_MILLION, type Quotient } from '../charts/rounding.ts'
import { scanRelations } from '../charts/scan.ts'
import type { ScanContext } from '../charts/scan-rows.ts'
import type { FigureRow } from '../source.ts'
import { type FactRole, type FactRows, factRowsSql, KINDS } from './fact-rows.ts'
import type { RequestedNumber } from './number.ts'

/** `contribution`: the sum of those of the facts. */
export type CountedFacts = { role: FactRole; kind: (typeof KINDS)[number]; facts: number; contribution: Quotient }
/** The value of one unit of a currency on a day (YYYY-MM-DD), as a decimal text; null: the currency has no rate, and stated amounts in USD count. */
export type RateOn = { date: string; rate: string | null }
/** `amount`: the prices from which the contributions `converted` come, with their signs. */
export type CurrencySum = { currency: string | null; amount: Quotient; converted: Quotient; first: RateOn; last: RateOn }
/** Facts that were recorded on a day of UTC. */
export type RecordedOn = { day: string; facts: number; contribution: Quotient }

export type NumberSums = {
  numerator: Quotient
  denominator: Quotient | null
  facts: CountedFacts[]
  currencies: CurrencySum[]
  late: RecordedOn[]
}

const DAY = 86_400
const dateOf = (day: bigint | number): string => new Date(Number(day) * DAY * 1000).toISOString().slice(0, 10)

const total = (rows: FigureRow[], name: string): bigint => rows.reduce((sum, row) => sum + ((row[name] as bigint | null) ?? 0n), 0n)
const edge = (rows: FigureRow[], name: string, isEarlier: (a: bigint, b: bigint) => boolean): bigint =>
  rows.map(row => row[name] as bigint).reduce((found, value) => (isEarlier(value, found) ? value : found))

/** One pass over the facts of a number. `lateFrom`: facts that were recorded from then on (Unix seconds) are summed by day besides. */
export async function sumsOfNumber(
  db: Db,
  context: ScanContext,
  requested: RequestedNumber,
  all: readonly FactRows[],
  lateFrom: number,
): Promise<NumberSums> {
  const rows = all.length === 0 ? [] : await context.source.query({ text: sumsSql(all, lateFrom), relations: scanRelations(context) })
  const per = unitOf(MEASURES[requested.chart.code], context.products)
  const role = (row: FigureRow): FactRole => all[Number(row.part)]!.role
  const [own, counted] = [rows.filter(row => role(row) !== 'denominator'), rows.filter(row => role(row) === 'denominator')]
  const over = (of: FigureRow[]): Quotient => ({ top: total(of, 'contribution'), bottom: per })
  const byKind = [...Map.groupBy(rows, row => `${role(row)} ${row.kind}`).values()]
  return {
    numerator: over(own),
    denominator: requested.chart.kind === 'ratio' ? { top: total(counted, 'contribution'), bottom: 1n } : null,
    facts: byKind.map(of => ({
      role: role(of[0]!),
      kind: KINDS[Number(of[0]!.kind) - 1]!,
      facts: Number(total(of, 'facts')),
      contribution: { top: total(of, 'contribution'), bottom: role(of[0]!) === 'denominator' ? 1n : per },
    })),
    currencies: requested.chart.measure === 'usd' ? await currencySums(db, context, requested, own, per) : [],
    late: [
      ...Map.groupBy(
        own.filter(row => row.late !== null),
        row => row.late as bigint,
      ),
    ]
      .sort(([a], [b]) => Number(b - a))
      .map(([day, of]) => ({ day: dateOf(day), facts: Number(total(of, 'facts')), contribution: over(of) })),
  }
}

function sumsSql(all: readonly FactRows[], lateFrom: number): string {
  const late = `case when f.recorded >= ${lateFrom} then f.recorded / ${DAY} end`
  const parts = factRowsSql(all).map(
    sql => `select f.part, f.kind, f.currency, ${late} as late, count(*) as facts, sum(f.contribution) as contribution,
      sum(sign(f.contribution) * f.amount) as amount, min(f.bought_on) as first, max(f.bought_on) as last
    from (${sql}) f group by f.part, f.kind, f.currency, late`,
  )
  return `${parts.join(' union all ')} order by 1, 2, 3, 4`
}

/** SQL: the day of the rate that converts on a day: the last one until then, else the first. Dollars are converted by the rate of the answer's currency. */
const rateDay = (day: string): string => {
  const of = `currency_rates r where r.currency = (case when k.currency = 'USD' then $4 else k.currency end) collate "default"`
  const used = `coalesce((select max(r.date) from ${of} and r.date <= ${day}), (select min(r.date) from ${of}))`
  return `coalesce(case when k.currency <> $4 then ${used} end, ${day})::text`
}

/** Amounts and rates of each currency, in the order of the codes. */
async function currencySums(
  db: Db,
  context: ScanContext,
  { question }: RequestedNumber,
  own: FigureRow[],
  per: bigint,
): Promise<CurrencySum[]> {
  const numbers = [...Map.groupBy(own, row => Number(row.currency ?? 0n))]
  const texts = await context.source.textsOf(numbers.flatMap(([number]) => (number === 0 ? [] : [number])))
  const sums = numbers.map(([number, rows]) => ({
    currency: texts.get(number) ?? null,
    amount: { top: total(rows, 'amount'), bottom: PER_MILLION },
    converted: { top: total(rows, 'contribution'), bottom: per },
    first: question.rateDate ?? dateOf(edge(rows, 'first', (a, b) => a < b)),
    last: question.rateDate ?? dateOf(edge(rows, 'last', (a, b) => a > b)),
  }))
  const { rows: rates } = await db.query<Record<'first' | 'last', string | null> & Record<'first_day' | 'last_day', string>>(
    `select currency_factor(k.currency, k.first, $4)::text as first, currency_factor(k.currency, k.last, $4)::text as last,
       ${rateDay('k.first')} as first_day, ${rateDay('k.last')} as last_day
     from unnest($1::text[], $2::date[], $3::date[]) with ordinality k(currency, first, last, n) order by n`,
    [sums.map(one => one.currency), sums.map(one => one.first), sums.map(one => one.last), question.currency],
  )
  return sums
    .map((one, i) => {
      const { first, first_day, last, last_day } = rates[i]!
      return { ...one, first: { date: first_day, rate: first }, last: { date: last_day, rate: last } }
    })
    .sort((a, b) => ((a.currency ?? '') < (b.currency ?? '') ? -1 : 1))
}

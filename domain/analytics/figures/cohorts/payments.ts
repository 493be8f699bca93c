import { type Grid, intervalSql } from '../buckets.ts'
import { type LeftOutMoney, namedMoney } from '../charts/unconverted.ts'
import type { Exchange } from '../exchange.ts'
import { SALE_ATTRIBUTION } from '../sale-attribution.ts'
import type { FactSource, FigureRow } from '../source.ts'
import { anchored, type CohortKey, cohortKey, type Members, memberRows } from './members.ts'
import type { PaidMoney } from './money.ts'
import { ANCHORS, type CohortMode, LAST_RENEWAL } from './question.ts'

/**
 * The payments of one period by the users of one segment and cohort. `firstPayers`: the users among them who had not paid before;
 * `firstPaid`: the same of subscriptions. `open`: periods that are under way now, billing retry included. `revenue`, `recurring` (of
 * subscriptions alone): in the smallest part of a unit of the currency. All of them can be added over segments and cohorts, because a user
 * is in one of each.
 */
export type Payments = {
  payers: number
  firstPayers: number
  subscriptions: number
  firstPaid: number
  open: number
  revenue: bigint
  recurring: bigint
}
export type PaymentRow = Payments & { segment: number; cohort: number; period: number }

/** Periods by days: when they begin and the last one ends, in seconds after the anchor, by whole days. The first one has the number `first`. */
export type Ages = { grid: Grid; first: number }

export type RequestedPayments = { members: Members; mode: CohortMode; ages: Ages; money: PaidMoney; exchange: Exchange }

const DAY = 86_400
/** Kind of the amount that was credited for a payment: a negative amount. It is no payment. */
export const CREDIT = 7

/** Bits of `firsts`: of the user and of the subscription, for the first anchor. */
const USER_BIT = 0
const SUBSCRIPTION_BIT = 3
const FIRST_OF_SUBSCRIPTION = 6
const FIRST_OF_RENEWAL = 7
/** From this version of the rules on, facts have that bit. */
const WITH_FIRST_OF_RENEWAL = 2

/** The bits of facts that were folded before there was the last one. They are slow to find, and only until the facts are folded anew. */
const FIRSTS_OF_OLD_FACTS = `(t.firsts | case when t.renewal is not null
  and row_number() over (partition by t.user_no, t.renewal order by t.happened, t.id) = 1 then ${1 << FIRST_OF_RENEWAL} else 0 end)`

/**
 * The transactions `t` of the members, with `segment`, `bits`, and what they are added up by first: the key of their cohort, and the day of the age or
 * the number of the renewal. And the factors `f`.
 */
export function paid(source: FactSource, { members, mode, ages, money, exchange }: RequestedPayments, { key }: CohortKey) {
  const { anchor, condition, segments, now } = members
  const { dialect } = source
  const isRestricted = condition !== null || segments !== null
  const own = `t.${anchor}`
  const age = `case when t.happened < ${own} then 0 else t.happened - ${own} end`
  const [period, which] =
    mode === 'by_days'
      ? [
          dialect.divide('t.age', DAY, ages.grid.end),
          `(t.kind between 2 and 5 and t.amount > 0 or t.kind = ${CREDIT}) and t.happened - ${own} < ${ages.grid.end}`,
        ]
      : ['t.renewal', `t.renewal <= ${LAST_RENEWAL}`]
  const all = dialect.tables.transactions
  const rows = mode === 'by_days' ? `(select t.*, ${age} as age from ${all} t)` : all
  const columns = [
    ...(segments === null ? [] : ['m.segment']),
    `${key} as cohort_key`,
    `${period} as period_key`,
    `${source.foldVersion < WITH_FIRST_OF_RENEWAL ? FIRSTS_OF_OLD_FACTS : 't.firsts'} as bits`,
  ]
  return {
    text: `from (
        select t.*, ${columns.join(', ')}
        from ${rows} t ${isRestricted ? `join (${memberRows(source, members)}) m on m.user_no = t.user_no` : ''}
        where ${which} and t.happened <= ${now} and ${anchored(own, members)}
      ) t ${money.join}`,
    relations: [...members.relations, exchange.factors],
  }
}

const number = (row: FigureRow, name: string): number => Number(row[name] ?? 0n)

/** Rows that have the same bits. The facts know who pays for the first time in a period, so nothing is counted twice. */
function paymentsOf(row: FigureRow, { members, mode, ages, money: { parts } }: RequestedPayments): PaymentRow {
  const bit = Object.values(ANCHORS).indexOf(members.anchor)
  const [rows, bits] = [number(row, 'rows'), number(row, 'bits')]
  const having = (one: number) => ((bits & (1 << one)) === 0 ? 0 : rows)
  const isByDays = mode === 'by_days'
  const period = number(row, 'period') + (isByDays ? ages.first : 0)
  // A user who paid any period has paid the first one.
  const ofFirst = (count: number) => (period === 1 ? count : 0)
  const revenue = parts.reduce((sum, { weight }, i) => sum + weight * ((row[`p${i}`] as bigint | null) ?? 0n), 0n)
  return {
    segment: number(row, 'segment'),
    cohort: number(row, 'cohort'),
    period,
    payers: having(isByDays ? USER_BIT + bit : FIRST_OF_RENEWAL),
    firstPayers: isByDays ? rows - number(row, 'later') : ofFirst(having(FIRST_OF_RENEWAL)),
    subscriptions: isByDays ? having(SUBSCRIPTION_BIT + bit) : rows,
    firstPaid: isByDays ? having(FIRST_OF_SUBSCRIPTION) : ofFirst(rows),
    open: number(row, 'open'),
    revenue,
    recurring: number(row, 'sold_as') === SALE_ATTRIBUTION.oneTime ? 0n : revenue,
  }
}

/** The payments of all segments, cohorts and periods that have any, and the transactions that are missing in their money. */
export async function readPayments(
  source: FactSource,
  requested: RequestedPayments,
): Promise<{ rows: PaymentRow[]; unconverted: LeftOutMoney[] }> {
  const cohort = cohortKey(`t.${requested.members.anchor}`, requested.members, source)
  const { text, relations } = paid(source, requested, cohort)
  const rows = await source.query({ text: summed(source, requested, cohort, text), relations })
  const isComplete = rows.every(row => number(row, 'missing') === 0)
  return {
    rows: rows.map(row => paymentsOf(row, requested)),
    unconverted: isComplete ? [] : await unconvertedOf(source, `${text} where ${requested.money.isMissing}`, relations),
  }
}

/** The sums by segment, cohort, period and bits: first by keys that are found fast, then of the few rows that are left. */
function summed(
  { dialect }: FactSource,
  { members, mode, ages, money, exchange }: RequestedPayments,
  { cohort }: CohortKey,
  text: string,
): string {
  const { divide, attributionSql, sum } = dialect
  const { parts, isMissing } = money
  const [whole] = parts
  const segment = members.segments === null ? [] : ['segment']
  const keys = [...segment, 'cohort_key', 'period_key', 'bits'].map(name => `t.${name}`)
  const counts = {
    rows: `count(case when t.kind <> ${CREDIT} then 1 end)`,
    ...(mode === 'by_days' ? { later: 'count(t.paid_before)' } : { open: `count(case when t.open_until > ${members.now} then 1 end)` }),
    ...(exchange.isRated ? {} : { missing: `count(case when ${isMissing} then 1 end)` }),
  }
  const amounts = parts.length === 1 ? [sum(whole!.sql)] : parts.map(({ sql }) => `sum(${sql})`)
  const found = [
    ...keys,
    `${attributionSql('t')} as sold_as`,
    ...Object.entries(counts).map(([name, sql]) => `${sql} as ${name}`),
    ...amounts.map((sql, i) => `${sql} as p${i}`),
  ]
  const columns = [
    ...segment.map(name => `d.${name}`),
    `${cohort('d.cohort_key')} as cohort`,
    `${mode === 'by_days' ? intervalSql(`(d.period_key * ${DAY})`, ages.grid, divide) : 'd.period_key'} as period`,
    'd.bits',
    'd.sold_as',
  ]
  const sums = [...Object.keys(counts).map(name => `sum(d.${name}) as ${name}`), ...amounts.map((_, i) => `${sum(`d.p${i}`)} as p${i}`)]
  const numbered = (count: number) => Array.from({ length: count }, (_, i) => i + 1).join(', ')
  return `select ${[...columns, ...sums].join(', ')} from (select ${found.join(', ')} ${text} group by ${numbered(keys.length + 1)}) d
    group by ${numbered(columns.length)}`
}

async function unconvertedOf(source: FactSource, text: string, relations: Members['relations']): Promise<LeftOutMoney[]> {
  const rows = await source.query({
    text: `select t.currency, count(*) as transactions, sum(${source.dialect.wide('t.amount')}) as amount ${text} group by t.currency`,
    relations,
  })
  return namedMoney(source, rows)
}

import { type Grid, intervalSql } from '../buckets.ts'
import { type LeftOutMoney, namedMoney } from '../charts/unconverted.ts'
import type { Exchange } from '../exchange.ts'
import type { FactSource, FigureRow } from '../source.ts'
import { anchored, cohortSql, type Members, memberRows } from './members.ts'
import type { PaidMoney } from './money.ts'
import { ANCHORS, type CohortMode, LAST_RENEWAL } from './question.ts'

/**
 * What was paid in one period by the users of one segment and cohort. `firstPayers`: those of them who had not paid before; `firstPaid`: the
 * same of subscriptions. `open`: periods that go on now, billing retry included. `revenue`, `recurring` (of subscriptions alone): in the
 * smallest part of a unit of the currency. All of them can be added over segments and cohorts, because a user is in one of each.
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

/** Periods by days: when they begin and the last one ends, in seconds after the anchor. The first one has the number `first`. */
export type Ages = { grid: Grid; first: number }

export type PaymentsAsked = { members: Members; mode: CohortMode; ages: Ages; money: PaidMoney; exchange: Exchange }

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

/** The transactions `t` of the members, with `segment`, `cohort`, `period` and `bits`, and the factors `f`. */
function paid(source: FactSource, { members, mode, ages, money, exchange }: PaymentsAsked) {
  const { anchor, condition, segments, now, starts } = members
  const { dialect } = source
  const isRestricted = condition !== null || segments !== null
  const own = `t.${anchor}`
  const age = `case when t.happened < ${own} then 0 else t.happened - ${own} end`
  const [period, which] =
    mode === 'by_days'
      ? [
          dialect.small(intervalSql('t.age', ages.grid, dialect.divide), ages.grid.starts.length),
          `t.kind between 2 and 5 and t.amount > 0 and t.happened - ${own} < ${ages.grid.end}`,
        ]
      : ['t.renewal', `t.renewal <= ${LAST_RENEWAL}`]
  const all = dialect.tables.transactions
  const rows = mode === 'by_days' ? `(select t.*, ${age} as age from ${all} t)` : all
  const keys = [
    ...(segments === null ? [] : ['m.segment']),
    `${dialect.small(cohortSql(own, members, source), starts.length)} as cohort`,
    `${period} as period`,
    `${source.foldVersion < WITH_FIRST_OF_RENEWAL ? FIRSTS_OF_OLD_FACTS : 't.firsts'} as bits`,
  ]
  return {
    text: `from (
        select t.*, ${keys.join(', ')}
        from ${rows} t ${isRestricted ? `join (${memberRows(source, members)}) m on m.user_no = t.user_no` : ''}
        where ${which} and t.happened <= ${now} and ${anchored(own, members)}
      ) t ${money.join}`,
    keys: [...(segments === null ? [] : ['t.segment']), 't.cohort', 't.period', 't.bits', 't.subscription is null as is_one_time'],
    relations: [...members.relations, exchange.factors],
  }
}

const number = (row: FigureRow, name: string): number => Number(row[name] ?? 0n)

/** Rows that have the same bits. The facts know who pays for the first time in a period, so nothing is counted twice. */
function paymentsOf(row: FigureRow, { members, mode, ages, money: { parts } }: PaymentsAsked): PaymentRow {
  const bit = Object.values(ANCHORS).indexOf(members.anchor)
  const [rows, bits] = [number(row, 'rows'), number(row, 'bits')]
  const having = (one: number) => ((bits & (1 << one)) === 0 ? 0 : rows)
  const isByDays = mode === 'by_days'
  const period = number(row, 'period') + (isByDays ? ages.first : 0)
  // Whoever paid any period has paid the first one.
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
    recurring: row.is_one_time ? 0n : revenue,
  }
}

/** The payments of all segments, cohorts and periods that have any, and the transactions that are missing in their money. */
export async function readPayments(source: FactSource, asked: PaymentsAsked): Promise<{ rows: PaymentRow[]; unconverted: LeftOutMoney[] }> {
  const { text, keys, relations } = paid(source, asked)
  const { parts, isMissing } = asked.money
  const [whole] = parts
  const money = parts.length === 1 ? [`${source.dialect.sum(whole!.sql)} as p0`] : parts.map(({ sql }, i) => `sum(${sql}) as p${i}`)
  const columns = [
    ...keys,
    'count(*) as rows',
    asked.mode === 'by_days' ? 'count(t.paid_before) as later' : `count(case when t.open_until > ${asked.members.now} then 1 end) as open`,
    ...money,
    ...(asked.exchange.isRated ? [] : [`count(case when ${isMissing} then 1 end) as missing`]),
  ]
  const rows = await source.query({
    text: `select ${columns.join(', ')} ${text} group by ${keys.map((_, i) => i + 1).join(', ')}`,
    relations,
  })
  const isComplete = rows.every(row => number(row, 'missing') === 0)
  return {
    rows: rows.map(row => paymentsOf(row, asked)),
    unconverted: isComplete ? [] : await unconvertedOf(source, `${text} where ${isMissing}`, relations),
  }
}

async function unconvertedOf(source: FactSource, text: string, relations: Members['relations']): Promise<LeftOutMoney[]> {
  const rows = await source.query({
    text: `select t.currency, count(*) as transactions, sum(${source.dialect.wide('t.amount')}) as amount ${text} group by t.currency`,
    relations,
  })
  return namedMoney(source, rows)
}

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

const has = (bit: number): string => `(t.firsts & ${1 << bit}) <> 0`

/** The transactions `t` of the members, with `segment`, `cohort` and `period`, and the factors `f`. */
function paid(source: FactSource, { members, mode, ages, money, exchange }: PaymentsAsked) {
  const { anchor, condition, segments, now, starts } = members
  const { dialect } = source
  const isRestricted = condition !== null || segments !== null
  const own = `t.${anchor}`
  const age = `greatest(t.happened - ${own}, 0)`
  const [period, which] =
    mode === 'by_days'
      ? [
          dialect.small(intervalSql(age, ages.grid, dialect.divide), ages.grid.starts.length),
          `t.kind between 2 and 5 and t.amount > 0 and ${age} < ${ages.grid.end}`,
        ]
      : ['t.renewal', `t.renewal <= ${LAST_RENEWAL}`]
  return {
    text: `from (
        select t.*, ${isRestricted ? 'm.segment' : '0'} as segment, ${dialect.small(cohortSql(own, members, source), starts.length)} as cohort, ${period} as period
        from ${dialect.tables.transactions} t ${isRestricted ? `join (${memberRows(source, members)}) m on m.user_no = t.user_no` : ''}
        where ${which} and t.happened <= ${now} and ${anchored(own, members)}
      ) t ${money.join}`,
    first: mode === 'by_days' ? ages.first : 0,
    relations: [...members.relations, exchange.factors],
  }
}

/** How each figure is counted. The facts know who pays for the first time in a period, so nothing is counted twice. */
function counts({ anchor, now }: Members, mode: CohortMode, foldVersion: number): string {
  const bit = Object.values(ANCHORS).indexOf(anchor)
  const counted = (condition: string) => `count(*) filter (where ${condition})`
  const users = (condition: string) =>
    foldVersion >= WITH_FIRST_OF_RENEWAL
      ? counted(`${has(FIRST_OF_RENEWAL)} and ${condition}`)
      : `count(distinct t.user_no) filter (where ${condition})`
  const [payers, firstPayers, subscriptions, firstPaid, open] =
    mode === 'by_days'
      ? [
          counted(has(USER_BIT + bit)),
          counted('t.paid_before is null'),
          counted(has(SUBSCRIPTION_BIT + bit)),
          counted(has(FIRST_OF_SUBSCRIPTION)),
          '0',
        ]
      : // Whoever paid any period has paid the first one.
        [users('true'), users('t.period = 1'), 'count(*)', counted('t.period = 1'), counted(`t.open_until > ${now}`)]
  return `${payers} as payers, ${firstPayers} as first_payers, ${subscriptions} as subscriptions, ${firstPaid} as first_paid, ${open} as open`
}

/** Rows of a period that are of subscriptions, and rows that are not. */
function paymentRows(rows: FigureRow[], { parts }: PaidMoney, first: number): PaymentRow[] {
  return rows.map(row => {
    const sum = parts.reduce((total, { weight }, i) => total + weight * ((row[`p${i}`] as bigint | null) ?? 0n), 0n)
    return {
      segment: Number(row.segment),
      cohort: Number(row.cohort),
      period: Number(row.period) + first,
      payers: Number(row.payers),
      firstPayers: Number(row.first_payers),
      subscriptions: Number(row.subscriptions),
      firstPaid: Number(row.first_paid),
      open: Number(row.open),
      revenue: sum,
      recurring: row.is_one_time ? 0n : sum,
    }
  })
}

/** The payments of all segments, cohorts and periods that have any, and the transactions that are missing in their money. */
export async function readPayments(source: FactSource, asked: PaymentsAsked): Promise<{ rows: PaymentRow[]; unconverted: LeftOutMoney[] }> {
  const { text, first, relations } = paid(source, asked)
  const { parts, isMissing } = asked.money
  const isExact = parts.length === 1
  const sums = parts.map(({ sql }, i) => `${isExact ? source.dialect.sum(sql) : `sum(${sql})`} as p${i}`)
  const rows = await source.query({
    text: `select t.segment, t.cohort, t.period, t.subscription is null as is_one_time, ${counts(asked.members, asked.mode, source.foldVersion)},
      ${sums.join(', ')}, count(*) filter (where ${isMissing}) as missing
      ${text} group by 1, 2, 3, 4`,
    relations,
  })
  const isComplete = rows.every(row => row.missing === 0n)
  return {
    rows: paymentRows(rows, asked.money, first),
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

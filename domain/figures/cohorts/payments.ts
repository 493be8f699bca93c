import { type LeftOutMoney, namedMoney } from '../charts/unconverted.ts'
import type { Exchange } from '../factors.ts'
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

/** `days`: SQL for the period of a day after the anchor, null where it has none. */
export type PaymentsAsked = { members: Members; mode: CohortMode; days: (day: string) => string; money: PaidMoney; exchange: Exchange }

const DAY = 86_400
/** Bits of `firsts`: of the user and of the subscription, for the first anchor. */
const USER_BIT = 0
const SUBSCRIPTION_BIT = 3
const FIRST_OF_SUBSCRIPTION = 6

const has = (bit: number): string => `(t.firsts & ${1 << bit}) <> 0`

/** The transactions `t` of the members, with `segment`, `cohort`, `period`, and the factors `f`. */
function paid(source: FactSource, { members, mode, days, money, exchange }: PaymentsAsked) {
  const { anchor, condition, segments, now } = members
  const { dialect } = source
  const isRestricted = condition !== null || segments !== null
  const own = `t.${anchor}`
  const day = `greatest(${dialect.divide(`(t.happened - ${own})`, String(DAY))}, 0)`
  const period = mode === 'by_days' ? days('t.place') : 't.place'
  const which = mode === 'by_days' ? 't.kind between 2 and 5 and t.amount > 0' : `t.renewal <= ${LAST_RENEWAL}`
  return {
    text: `from (
        select t.*, ${isRestricted ? 'm.segment' : '0'} as segment, ${cohortSql(own, members, source)} as cohort,
          ${mode === 'by_days' ? day : 't.renewal'} as place
        from ${dialect.tables.transactions} t ${isRestricted ? `join (${memberRows(source, members)}) m on m.user_no = t.user_no` : ''}
        where ${which} and t.happened <= ${now} and ${anchored(own, members)}
      ) t ${money.join}
      where ${period} is not null`,
    period,
    relations: [...members.relations, exchange.factors],
  }
}

/** How each figure is counted. By days the facts know who pays for the first time in a period, so nothing is counted twice. */
function counts({ anchor, now }: Members, mode: CohortMode): string {
  const bit = Object.values(ANCHORS).indexOf(anchor)
  const counted = (condition: string) => `count(*) filter (where ${condition})`
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
        [
          'count(distinct t.user_no)',
          'count(distinct t.user_no) filter (where t.place = 1)',
          'count(*)',
          counted('t.place = 1'),
          counted(`t.open_until > ${now}`),
        ]
  return `${payers} as payers, ${firstPayers} as first_payers, ${subscriptions} as subscriptions, ${firstPaid} as first_paid, ${open} as open`
}

const paymentRow = ({ recurring, one_time: oneTime, ...row }: FigureRow): PaymentRow => ({
  segment: Number(row.segment),
  cohort: Number(row.cohort),
  period: Number(row.period),
  payers: Number(row.payers),
  firstPayers: Number(row.first_payers),
  subscriptions: Number(row.subscriptions),
  firstPaid: Number(row.first_paid),
  open: Number(row.open),
  revenue: ((recurring as bigint | null) ?? 0n) + ((oneTime as bigint | null) ?? 0n),
  recurring: (recurring as bigint | null) ?? 0n,
})

/** The payments of all segments, cohorts and periods that have any, and the transactions that are missing in their money. */
export async function readPayments(source: FactSource, asked: PaymentsAsked): Promise<{ rows: PaymentRow[]; unconverted: LeftOutMoney[] }> {
  const { text, period, relations } = paid(source, asked)
  const { value } = asked.money
  const missing = 't.amount > 0 and f.factor is null'
  const sum = (which: string) => source.dialect.sum(`case when ${which} then ${value} end`)
  const rows = await source.query({
    text: `select t.segment, t.cohort, ${period} as period, ${counts(asked.members, asked.mode)},
      ${sum('t.subscription is not null')} as recurring, ${sum('t.subscription is null')} as one_time,
      count(*) filter (where ${missing}) as missing
      ${text} group by t.segment, t.cohort, ${period}`,
    relations,
  })
  const isComplete = rows.every(row => row.missing === 0n)
  return { rows: rows.map(paymentRow), unconverted: isComplete ? [] : await unconvertedOf(source, `${text} and ${missing}`, relations) }
}

async function unconvertedOf(source: FactSource, text: string, relations: Members['relations']): Promise<LeftOutMoney[]> {
  const rows = await source.query({
    text: `select t.currency, count(*) as transactions, sum(${source.dialect.wide('t.amount')}) as amount ${text} group by t.currency`,
    relations,
  })
  return namedMoney(source, rows)
}

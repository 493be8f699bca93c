import { SUBSCRIPTION_STATE } from '../../facts/rows.ts'
import type { ColumnAttribute } from '../attributes.ts'
import { conditionsOf } from '../restriction.ts'
import type { FigureRelation } from '../source.ts'
import type { ScanCode } from './measure.ts'
import { amountSql, converted, factorJoins, hasGivenProceeds, isLeftOut, proceedsBaseSql, proceedsShare } from './money.ts'
import { movement } from './movement.ts'
import {
  columnIn,
  countedRows,
  counts,
  type MeasuredSum,
  measuredCount,
  measuredSum,
  plainTerms,
  type Scan,
  type ScanContext,
} from './scan-rows.ts'
import { monthly, subscriptionsIn } from './stocks.ts'

const PAID = 't.kind between 2 and 5'
const CREDIT = 7
const PAID_OR_BACK = `t.kind between 2 and ${CREDIT}`

const transactionColumn = ({ columns }: ColumnAttribute): string => `t.${columns.transaction}`

type Parts = Pick<Scan, 'measured' | 'terms'> & Partial<Pick<Scan, 'split' | 'fineSplit' | 'multipliers'>>

/** Transactions of these kinds, as `t`. `joins`: with the factors, where there is money; `leftOut`: what cannot be converted. */
function transactionScan(
  { source, restriction }: ScanContext,
  kinds: string,
  { joins = '', leftOut = null, split = null, multipliers = [], ...parts }: Parts & { joins?: string; leftOut?: string | null },
): Scan {
  return {
    ...parts,
    from: `${source.dialect.tables.transactions} t${joins}`,
    happened: 't.happened',
    where: [kinds, ...conditionsOf(restriction, 't.user_no', columnIn(transactionColumn))],
    split,
    multipliers,
    leftOut: leftOut === null ? null : countedRows(leftOut),
    column: transactionColumn,
  }
}

/** Transactions of these kinds with their converted amounts, which are measured first. */
export function amounts(context: ScanContext, kinds: string, { measured, ...parts }: Parts): Scan {
  const { money } = context
  const amount: MeasuredSum = { isMoney: true, sql: part => amountSql('t', money, part) }
  return transactionScan(context, kinds, {
    ...parts,
    measured: [amount, ...measured],
    joins: factorJoins('t', money),
    leftOut: isLeftOut('t'),
  })
}

/** Kinds of transactions that were paid. */
export const PAYMENTS = [2, 3, 4, 5]
/** The sum of their amounts: credits are negative. */
const PAYMENTS_LESS_CREDITS = [...PAYMENTS, CREDIT]
const REFUND = 6
/** Payments and refunds of one measured column, where one kind of payment may stand for all. */
const BACK_AND_FORTH = {
  split: `case when t.kind in (${REFUND}, ${CREDIT}) then t.kind else ${PAYMENTS[0]} end`,
  fineSplit: { split: 't.kind', instead: PAID_OR_BACK },
  terms: [
    { plus: 0, within: PAYMENTS_LESS_CREDITS },
    { plus: 0, within: [REFUND] },
  ],
}

const billed = (context: ScanContext): Scan => amounts(context, PAID_OR_BACK, { measured: [], ...BACK_AND_FORTH })

const refunded = (context: ScanContext): Scan => amounts(context, 't.kind = 6', { measured: [], terms: [{ plus: 0 }] })

const sales = (context: ScanContext): Scan =>
  amounts(context, `(t.kind between 1 and 5 or t.kind = ${CREDIT})`, {
    measured: [measuredCount()],
    split: 't.kind',
    terms: [{ plus: 1, within: [1] }, { plus: 1, within: [2, 3] }, { plus: 1, within: [5] }, { plus: 0 }],
  })

function proceeds(context: ScanContext): Scan {
  const { money } = context
  return transactionScan(context, PAID_OR_BACK, {
    ...BACK_AND_FORTH,
    measured: [{ isMoney: true, sql: part => converted(proceedsBaseSql('t', money), money, part), multiplier: 0 }],
    multipliers: [proceedsShare('t', money)],
    joins: factorJoins('t', money, { given: hasGivenProceeds('t') }),
    leftOut: `${isLeftOut('t')} and t.proceeds_usd is null`,
  })
}

function outcomes(context: ScanContext): Scan {
  const { now } = context
  const [isNew, isTrial] = ['t.kind in (2, 3)', 't.kind = 1']
  return transactionScan(
    context,
    't.kind between 1 and 5',
    added([
      measuredCount(PAID),
      measuredCount(PAID, `t.refunded_at <= ${now}`),
      measuredCount(isNew),
      measuredCount(isNew, `t.cancelled_at <= ${now}`),
      measuredCount(isTrial),
      measuredCount(isTrial, `t.cancelled_at <= ${now}`),
      measuredCount(isTrial, `t.converted_at <= ${now}`),
    ]),
  )
}

const begun = (context: ScanContext): Scan => {
  const kinds = [1, 2, 3, 4]
  return transactionScan(context, 't.kind between 1 and 4', {
    measured: [measuredCount()],
    split: 't.kind',
    terms: kinds.map(kind => ({ plus: 0, within: [kind] })),
  })
}

/** The sums of these columns themselves. */
const added = (measured: MeasuredSum[]): Pick<Scan, 'measured' | 'split' | 'terms' | 'multipliers'> => ({
  measured,
  split: null,
  terms: plainTerms(measured),
  multipliers: [],
})

const ENDED = ['c.paid_ended', 'c.trials_ended', 'c.cancelled']

/** Ends and cancellations of runs have the attributes of the latest period begun then. */
function ended({ source, restriction, now }: ScanContext): Scan {
  const column = ({ columns }: ColumnAttribute) => (columns.hasOneState ? `c.${columns.state}` : `c.a_${columns.state}`)
  return {
    from: `${source.dialect.tables.changes} c`,
    happened: 'c.happened',
    where: [counts('c', now), ...conditionsOf(restriction, 'c.user_no', columnIn(column))],
    ...added(ENDED.map(count => ({ ...measuredSum(count), only: [`${count} > 0`] }))),
    leftOut: null,
    column,
  }
}

function created({ source, restriction, now }: ScanContext): Scan {
  const column = ({ columns }: ColumnAttribute) => `u.${columns.user}`
  return {
    from: `${source.dialect.tables.users} u`,
    happened: 'u.created',
    where: conditionsOf(restriction, 'u.user_no', columnIn(column)),
    ...added([measuredCount(), measuredCount(`u.first_trial <= ${now}`), measuredCount(`u.first_paid <= ${now}`)]),
    leftOut: null,
    column,
  }
}

export function scanOf(code: ScanCode, context: ScanContext): Scan {
  switch (code) {
    case 'billed':
      return billed(context)
    case 'refunded':
      return refunded(context)
    case 'proceeds':
      return proceeds(context)
    case 'sold':
      return sales(context)
    case 'outcomes':
      return outcomes(context)
    case 'begun':
      return begun(context)
    case 'ended':
      return ended(context)
    case 'monthly':
      return monthly(context)
    case 'movement':
      return movement(context)
    case 'standing in paid or grace':
      return subscriptionsIn(context, [SUBSCRIPTION_STATE.paid, SUBSCRIPTION_STATE.grace], [1, 0, 2])
    case 'standing in trial':
      return subscriptionsIn(context, [SUBSCRIPTION_STATE.trial], [1, 0])
    case 'created':
      return created(context)
    default:
      return code satisfies never
  }
}

/** The relations that a scan's text names. */
export const scanRelations = ({ money, products, restriction }: ScanContext): FigureRelation[] => [
  money.exchange.factors,
  products.durations,
  ...restriction.sets,
]

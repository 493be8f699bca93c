import type { ColumnAttribute } from '../attributes.ts'
import { conditionsOf } from '../restriction.ts'
import type { FigureRelation } from '../source.ts'
import type { ScanCode } from './measure.ts'
import { amountSql, conversionKeys, factorJoins, isLeftOut, proceedsSql, shareSql } from './money.ts'
import { movement } from './movement.ts'
import { type Collapsed, columnIn, countedRows, counts, type Scan, type ScanContext } from './scan-rows.ts'
import { durationJoin, monthlyFactor, monthlyJoins, monthlySql, sideColumn, sidesSql } from './sides.ts'

const PAID = 't.kind between 2 and 5'

const transactionColumn = ({ columns }: ColumnAttribute): string => `t.${columns.transaction}`

/** Transactions of these kinds, as `t`. `leftOut`: what cannot be converted, unless it is every amount without a rate. */
export function transactionScan(
  { source, restriction, money }: ScanContext,
  kinds: string,
  parts: { terms: string[]; isMoney: boolean; only?: string[]; leftOut?: string; collapsed?: Collapsed },
): Scan {
  return {
    from: `${source.dialect.tables.transactions} t${parts.isMoney ? factorJoins('t', money) : ''}`,
    happened: 't.happened',
    where: [kinds, ...conditionsOf(restriction, 't.user_no', columnIn(transactionColumn))],
    terms: parts.terms,
    ...(parts.only && { only: parts.only }),
    leftOut: parts.isMoney ? countedRows(parts.leftOut ?? isLeftOut('t')) : null,
    column: transactionColumn,
    ...(parts.collapsed && { collapsed: parts.collapsed }),
  }
}

/** Amounts of transactions by what decides their conversion. What is null in one row of a group is so in all of them. */
const collapsedAmounts = ({ source, money }: ScanContext, kind: string, terms: string[]): Collapsed => ({
  row: 't',
  rows: `${source.dialect.tables.transactions} t`,
  keys: { kind, ...conversionKeys('t') },
  sums: { amount: 'sum(t.amount)', usd_given: 'sum(t.usd_given)', weight: 'count(*)' },
  joins: factorJoins('t', money),
  terms,
  leftOut: countedRows(isLeftOut('t'), 't.weight'),
})

/** `kind`: what the terms must know of the kind of a row. */
function amounts(context: ScanContext, kinds: string, kind: string, terms: (weight: string) => string[]): Scan {
  const collapsed = collapsedAmounts(context, kind, terms('t.weight'))
  return transactionScan(context, kinds, { terms: terms('1'), isMoney: true, collapsed })
}

const IS_REFUND = 'case when t.kind = 6 then 6 end'

function billed(context: ScanContext): Scan {
  const amount = amountSql('t', context.money)
  return amounts(context, 't.kind between 2 and 6', IS_REFUND, () => [
    `case when t.kind = 6 then 0 else ${amount} end`,
    `case when t.kind = 6 then ${amount} else 0 end`,
  ])
}

const refunded = (context: ScanContext): Scan => amounts(context, 't.kind = 6', '6', () => [amountSql('t', context.money)])

const sold = (context: ScanContext): Scan =>
  amounts(context, 't.kind between 1 and 5', 't.kind', weight => [
    ...['t.kind = 1', 't.kind in (2, 3)', 't.kind = 5'].map(kind => countedRows(kind, weight)),
    amountSql('t', context.money),
  ])

function proceeds(context: ScanContext): Scan {
  const { money, source } = context
  const leftOut = `${isLeftOut('t')} and t.proceeds_usd is null`
  const terms = (share?: string) => {
    const value = proceedsSql('t', money, share)
    return [`case when t.kind = 6 then 0 else ${value} end`, `case when t.kind = 6 then ${value} else 0 end`]
  }
  const names = ['amount', 'usd_given', 'proceeds', 'proceeds_usd']
  const stated = ['proceeds', 'proceeds_usd'].map(name => [`is_no_${name}`, `t.${name} is null`])
  const collapsed: Collapsed = {
    row: 't',
    rows: `${source.dialect.tables.transactions} t`,
    keys: { kind: IS_REFUND, share: shareSql('t', money), ...Object.fromEntries(stated), ...conversionKeys('t') },
    sums: { ...Object.fromEntries(names.map(name => [name, `sum(t.${name})`])), weight: 'count(*)' },
    joins: factorJoins('t', money),
    terms: terms('t.share'),
    leftOut: countedRows(leftOut, 't.weight'),
  }
  return transactionScan(context, 't.kind between 2 and 6', { terms: terms(), isMoney: true, leftOut, collapsed })
}

function outcomes(context: ScanContext): Scan {
  const { now } = context
  const [isNew, isTrial] = ['t.kind in (2, 3)', 't.kind = 1']
  const conditions = [
    PAID,
    `${PAID} and t.refunded_at <= ${now}`,
    isNew,
    `${isNew} and t.cancelled_at <= ${now}`,
    isTrial,
    `${isTrial} and t.cancelled_at <= ${now}`,
    `${isTrial} and t.converted_at <= ${now}`,
  ]
  return counting(context, 't.kind between 1 and 5', conditions)
}

/** How many rows meet each of the conditions. */
const counting = (context: ScanContext, kinds: string, conditions: string[]): Scan =>
  transactionScan(context, kinds, { terms: conditions.map(condition => countedRows(condition)), only: conditions, isMoney: false })

const begun = (context: ScanContext): Scan =>
  counting(
    context,
    't.kind between 1 and 4',
    [1, 2, 3, 4].map(kind => `t.kind = ${kind}`),
  )

const ENDED = ['c.paid_ended', 'c.trials_ended', 'c.cancelled']

/** Ends and cancellations of runs have the attributes of the latest period begun then. */
function ended({ source, restriction, now }: ScanContext): Scan {
  const column = ({ columns }: ColumnAttribute) => (columns.oneSided ? `c.${columns.side}` : `c.a_${columns.side}`)
  return {
    from: `${source.dialect.tables.changes} c`,
    happened: 'c.happened',
    where: [counts('c', now), ...conditionsOf(restriction, 'c.user_no', columnIn(column))],
    terms: ENDED,
    only: ENDED.map(count => `${count} > 0`),
    leftOut: null,
    column,
  }
}

const sidesOf = ({ source, standing, sides }: ScanContext): string => sides ?? sidesSql(source.dialect.tables.changes, standing)

function sides(
  context: ScanContext,
  parts: { joins: string; condition: string; terms: string[]; leftOut: string | null; collapsed?: Collapsed },
): Scan {
  const { restriction, now } = context
  const column = (attribute: ColumnAttribute) => sideColumn('s', attribute)
  return {
    from: `${sidesOf(context)} s${parts.joins}`,
    happened: 's.happened',
    where: [parts.condition, counts('s', now), ...conditionsOf(restriction, 's.user_no', columnIn(column))],
    terms: parts.terms,
    leftOut: parts.leftOut,
    column,
    ...(parts.collapsed && { collapsed: parts.collapsed }),
  }
}

const monthly = (context: ScanContext): Scan =>
  sides(context, {
    joins: monthlyJoins('s', context.money),
    condition: 's.amount is not null',
    terms: [`s.sign * (${monthlySql('s', context.money)})`],
    leftOut: `case when ${isLeftOut('s')} then s.sign else 0 end`,
    collapsed: {
      row: 's',
      rows: `${sidesOf(context)} s${durationJoin('s')}`,
      keys: { sign: 's.sign', monthly: monthlyFactor('s'), ...conversionKeys('s') },
      sums: { amount: 'sum(s.amount)', usd_given: 'sum(s.usd_given)', weight: 'count(*)' },
      joins: factorJoins('s', context.money),
      terms: [`s.sign * s.monthly * (${amountSql('s', context.money)})`],
      leftOut: `case when ${isLeftOut('s')} then s.sign * s.weight else 0 end`,
    },
  })

const standing = (context: ScanContext, state: 1 | 2): Scan =>
  sides(context, {
    joins: '',
    condition: `s.state = ${state}`,
    terms: ['case when s.renewing then s.sign else 0 end', 'case when s.renewing then 0 else s.sign end'],
    leftOut: null,
  })

function created({ source, restriction, now }: ScanContext): Scan {
  const column = ({ columns }: ColumnAttribute) => `u.${columns.user}`
  return {
    from: `${source.dialect.tables.users} u`,
    happened: 'u.created',
    where: conditionsOf(restriction, 'u.user_no', columnIn(column)),
    terms: ['1', countedRows(`u.first_trial <= ${now}`), countedRows(`u.first_paid <= ${now}`)],
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
      return sold(context)
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
    case 'standing in paid':
      return standing(context, 2)
    case 'standing in trial':
      return standing(context, 1)
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

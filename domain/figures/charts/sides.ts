import type { ColumnAttribute } from '../attributes.ts'
import type { StandingSides } from '../source.ts'
import { amountSql, factorJoins, type MoneySql, type SideName } from './money.ts'

/** What a side of a change says, behind `a_` and `b_`. */
export const SIDE_COLUMNS =
  'state renewing amount usd_given is_intro length bought_on platform product currency country app_version locale'.split(' ')

const oneSide = (changes: string, side: 'a' | 'b', sign: 1 | -1, since: string): string =>
  `select user_no, subscription, happened, counts_from, media, campaign, ${sign} as sign, ${SIDE_COLUMNS.map(name => `${side}_${name} as ${name}`).join(', ')}
   from ${changes} ${side} where ${side}_state in (1, 2, 3)${since}`

/**
 * What stands behind `from`: the two sides of each change as rows, the one after with sign 1, the one before with sign −1. The sum of signed
 * values over all changes before a time is the value at that time. Only sides in trial, paid or grace. `standing`: the sides that stood just before a
 * time, in place of all changes before it.
 */
export function sidesSql(changes: string, standing: StandingSides | null = null): string {
  const since = standing === null ? '' : ` and happened >= ${standing.at}`
  const sides = [oneSide(changes, 'a', 1, since), oneSide(changes, 'b', -1, since)]
  if (standing)
    sides.push(`select user_no, subscription, ${standing.at - 1} as happened, null as counts_from, media, campaign, 1 as sign,
      ${SIDE_COLUMNS.join(', ')} from ${standing.table}`)
  return `(${sides.join(' union all ')})`
}

/** The column of an attribute in a row of the sides. */
export const sideColumn = (row: string, { columns }: ColumnAttribute): string => `${row}.${columns.side}`

/** Joins the duration that the product has now. */
export const durationJoin = (row: string, side: SideName = ''): string =>
  ` left join durations d${side} on d${side}.product = ${row}.${side}product`

/** The same, and the factors of exchange. */
export const monthlyJoins = (row: string, money: MoneySql): string => `${factorJoins(row, money)}${durationJoin(row)}`

/** The factor of a month in 336ths: of the product's duration, unless the period is introductory; else of the period's length. */
export const monthlyFactor = (
  row: string,
  side: SideName = '',
): string => `coalesce(case when not ${row}.${side}is_intro then d${side}.monthly end,
  case ${row}.${side}length when 1 then 1461 when 3 then 168 when 4 then 112 when 5 then 56 when 6 then 28 else 336 end)`

/** The converted monthly amount of a side; 0 unless the side counts for MRR. */
export const monthlySql = (row: string, money: MoneySql): string =>
  `case when ${row}.amount is null then 0 else (${amountSql(row, money)}) * (${monthlyFactor(row)}) end`

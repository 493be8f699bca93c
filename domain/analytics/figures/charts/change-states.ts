import { SIXTEENTHS_OF_A_MONTH, sixteenthsOf, sixteenthsSql } from '../../facts/lengths.ts'
import { CHANGE_CAUSE } from '../../facts/rows.ts'
import type { ColumnAttribute } from '../attributes.ts'
import type { ProductVocabulary } from '../product-vocabulary.ts'
import type { Dialect, StockSnapshot } from '../source.ts'
import type { Multiplier, StatePrefix } from './money.ts'

/** The columns of a state, after the prefix `a_` (after the change) or `b_` (before it). */
export const STATE_COLUMNS =
  'state renewing amount usd_given is_intro length bought_on platform product currency country app_version locale'.split(' ')

const oneState = (changes: string, prefix: 'a' | 'b', sign: 1 | -1, conditions: readonly string[]): string =>
  `select user_no, subscription, happened, counts_from, media, campaign, ${sign} as sign, ${STATE_COLUMNS.map(name => `${prefix}_${name} as ${name}`).join(', ')}
   from ${changes} ${prefix} where ${[`${prefix}_state in (1, 2, 3)`, ...conditions].join(' and ')}`

/** SQL for a condition of a row, by its name. */
export type RowCondition = (row: string) => string

type StatesOptions = { snapshot?: StockSnapshot | null; since?: number | undefined; only?: RowCondition | null }

/**
 * SQL to select from: the two states of each change as rows, the one after with sign 1, the one before with sign −1. The sum of signed
 * values over all changes before a time is the value at that time. Only states in trial, paid or grace. `snapshot`: the states that stood just before a
 * time, in place of all changes before it. `since`: of the changes from this time on. `only`: of the changes that are read.
 */
export function statesSql(changes: string, { snapshot = null, since = snapshot?.at, only = null }: StatesOptions): string {
  const conditions = (row: string) => [...(since === undefined ? [] : [`happened >= ${since}`]), ...(only === null ? [] : [only(row)])]
  const states = [oneState(changes, 'a', 1, conditions('a')), oneState(changes, 'b', -1, conditions('b'))]
  return `(${[...states, ...(snapshot ? [standingSql(snapshot)] : [])].join(' union all ')})`
}

/** The states of a snapshot as such rows. */
export const standingSql = ({ at, table }: StockSnapshot): string =>
  `(select user_no, subscription, ${at - 1} as happened, null as counts_from, media, campaign, 1 as sign, ${STATE_COLUMNS.join(', ')} from ${table})`

/** Whether a change is one of state, auto-renew or period. Any other one tells of a period or run before the present one: both of its states are the same. */
export const statesDiffer =
  ({ changesState }: Pick<Dialect, 'changesState'>): RowCondition =>
  row =>
    `(${changesState(row)} or ${row}.cause in (${CHANGE_CAUSE.begin}, ${CHANGE_CAUSE.handover}))`

/** The column of an attribute in a row of a state. */
export const stateColumn = (row: string, { columns }: ColumnAttribute): string => `${row}.${columns.state}`

/** Whether a product has a duration of its own. */
export const hasDurations = ({ durations }: ProductVocabulary): boolean => durations.columns[0]!.values.length > 0

/** Joins the duration that the product has now. */
export const durationJoin = (row: string, products: ProductVocabulary, prefix: StatePrefix = ''): string =>
  hasDurations(products) ? ` left join ${products.durations.name} d${prefix} on d${prefix}.product = ${row}.${prefix}product` : ''

/** SQL for how long the period is, in sixteenths of a day: as its product's duration, unless it is introductory; else by its own length. */
export function sixteenthsOfState(row: string, products: ProductVocabulary, prefix: StatePrefix = ''): string {
  const own = sixteenthsSql(`${row}.${prefix}length`)
  return hasDurations(products) ? `coalesce(case when not ${row}.${prefix}is_intro then d${prefix}.sixteenths end, ${own})` : own
}

/** The factor of a month, in parts of a month: month ÷ length. */
export function monthlyFactor(row: string, products: ProductVocabulary, prefix: StatePrefix = ''): Multiplier {
  const parts = products.monthParts * BigInt(SIXTEENTHS_OF_A_MONTH)
  const length = sixteenthsOfState(row, products, prefix)
  const code = hasDurations(products) ? length : `${row}.${prefix}length`
  const sixteenths = (value: bigint) => (hasDurations(products) ? value : BigInt(sixteenthsOf(Number(value))))
  return {
    codes: [code],
    sql: `div(${parts}::numeric, ${length})`,
    valueOf: ([value]) => (value === null || value === undefined ? products.monthParts : parts / sixteenths(value)),
  }
}

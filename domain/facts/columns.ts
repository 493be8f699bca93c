import type { Stepwise } from '../in-steps.ts'
import { CHANGE_CAUSE, type ChangeSide, type Facts, SUBSCRIPTION_STATE, TRANSACTION_KIND } from './rows.ts'

export type ColumnValue = number | bigint | string | boolean | null
/** The numbers that stand for a fact's texts: of words, and of subscriptions of the user. */
export type Numbers = { word(text: string | null): number; subscription(key: string | null): number | null }
type Column<T> = [name: string, type: string, value: (row: T, numbers: Numbers) => ColumnValue, isWord?: true]

const plain =
  (type: string) =>
  <T extends object>(name: keyof T & string): Column<T> => [name, type, row => row[name] as ColumnValue]
const bigint = plain('bigint')
const small = plain('smallint')
const flag = plain('boolean')
const wordOf = <T>(name: string, text: (row: T) => string | null): Column<T> => [name, 'int', (row, { word }) => word(text(row)), true]
const word = <T extends object>(name: keyof T & string) => wordOf<T>(name, row => row[name] as string | null)

type User = Facts['user']
export const USER_COLUMNS: Column<User>[] = [
  ...(['created', 'first_trial', 'first_paid', 'first_trial_or_paid'] as const).map(name => bigint<User>(name)),
  ...(['platform', 'country', 'app_version', 'locale', 'media', 'campaign', 'ad_set', 'ad'] as const).map(name => word<User>(name)),
  ...(['class_platform', 'class_product', 'class_currency', 'class_country', 'class_app_version', 'class_locale'] as const).map(name =>
    word<User>(name),
  ),
]

type Transaction = Facts['transactions'][number]
export const TRANSACTION_COLUMNS: Column<Transaction>[] = [
  ['kind', 'smallint', ({ kind }) => TRANSACTION_KIND[kind]],
  bigint('happened'),
  plain('int')('bought_on'),
  ...(['platform', 'product', 'currency', 'country', 'app_version', 'locale', 'media', 'campaign', 'screen'] as const).map(name =>
    word<Transaction>(name),
  ),
  ...(['amount', 'proceeds', 'usd_given', 'proceeds_usd'] as const).map(name => bigint<Transaction>(name)),
  flag('is_loyal'),
  ['subscription', 'bigint', ({ subscription }, numbers) => numbers.subscription(subscription)],
  ...(['ends', 'open_until', 'converted_at', 'cancelled_at', 'refunded_at', 'refunded', 'refunded_proceeds', 'refunded_usd'] as const).map(
    name => bigint<Transaction>(name),
  ),
  bigint('paid_before'),
  small('renewal'),
  small('firsts'),
  ...(['created', 'first_trial_or_paid', 'first_paid', 'recorded', 'purchase'] as const).map(name => bigint<Transaction>(name)),
  plain('text')('event'),
]

type Change = Facts['changes'][number]

const sideColumns = (prefix: 'a' | 'b', side: (change: Change) => ChangeSide): Column<Change>[] => [
  [`${prefix}_state`, 'smallint', change => SUBSCRIPTION_STATE[side(change).state]],
  [`${prefix}_renewing`, 'boolean', change => side(change).renewing],
  [`${prefix}_amount`, 'bigint', change => side(change).amount],
  [`${prefix}_usd_given`, 'bigint', change => side(change).usd_given],
  [`${prefix}_is_intro`, 'boolean', change => side(change).is_intro],
  [`${prefix}_length`, 'smallint', change => side(change).length],
  [`${prefix}_bought_on`, 'int', change => side(change).bought_on],
  ...(['platform', 'product', 'currency', 'country', 'app_version', 'locale'] as const).map(name =>
    wordOf<Change>(`${prefix}_${name}`, change => side(change)[name]),
  ),
]

export const CHANGE_COLUMNS: Column<Change>[] = [
  ['subscription', 'bigint', ({ subscription }, numbers) => numbers.subscription(subscription)],
  bigint('happened'),
  bigint('counts_from'),
  ['cause', 'smallint', ({ cause }) => CHANGE_CAUSE[cause]],
  ...sideColumns('b', ({ before }) => before),
  ...sideColumns('a', ({ after }) => after),
  ...(['media', 'campaign'] as const).map(name => word<Change>(name)),
  ...(['paid_ended', 'trials_ended', 'cancelled'] as const).map(name => small<Change>(name)),
  bigint('recorded'),
]

const ofWords = <T>(columns: Column<T>[]) => columns.filter(([, , , isWord]) => isWord)

/** The columns with the number of a word. */
export const wordColumns = <T>(columns: Column<T>[]): string[] => ofWords(columns).map(([name]) => name)

const [USER_WORDS, TRANSACTION_WORDS, CHANGE_WORDS] = [ofWords(USER_COLUMNS), ofWords(TRANSACTION_COLUMNS), ofWords(CHANGE_COLUMNS)]

/** Adds every text of the facts that a word stands for. */
export function* addTexts(texts: Set<string>, { user, transactions, changes }: Facts): Stepwise<void> {
  const numbers: Numbers = {
    word: text => {
      if (text !== null && text !== '') texts.add(text)
      return 0
    },
    subscription: () => null,
  }
  function* visit<T>(columns: Column<T>[], rows: T[]): Stepwise<void> {
    for (const row of rows) {
      for (const [, , value] of columns) value(row, numbers)
      yield
    }
  }
  yield* visit(USER_WORDS, [user])
  yield* visit(TRANSACTION_WORDS, transactions)
  yield* visit(CHANGE_WORDS, changes)
}

/** The values of a row in the order of the columns. */
export const factValues = <T>(columns: Column<T>[], row: T, numbers: Numbers): ColumnValue[] =>
  columns.map(([, , value]) => value(row, numbers))

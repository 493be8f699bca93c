import type { inSteps } from '../../kernel/in-steps.ts'
import { CHANGE_CAUSE, type ChangeState, type Facts, SUBSCRIPTION_STATE, TRANSACTION_KIND } from './rows.ts'

type ColumnValue = number | bigint | string | null
/** The numbers that stand for a fact's texts: of words, and of subscriptions of the user. */
export type Numbers = { word(text: string | null): number; subscription(key: string | null): number | null }
export type Column<T> = [name: string, type: string, value: (row: T, numbers: Numbers) => ColumnValue, isWord?: true]

const plain =
  (type: string) =>
  <T extends object>(name: keyof T & string): Column<T> => [name, type, row => row[name] as ColumnValue]
const bigint = plain('bigint')
const small = plain('smallint')
/** As Postgres shows it in a row. */
const flagOf = <T>(name: string, value: (row: T) => boolean): Column<T> => [name, 'boolean', row => (value(row) ? 't' : 'f')]
const wordOf = <T>(name: string, text: (row: T) => string | null): Column<T> => [name, 'int', (row, { word }) => word(text(row)), true]
const word = <T extends object>(name: keyof T & string) => wordOf<T>(name, row => row[name] as string | null)

/** A text of a row, as Postgres reads it. */
export const quotedText = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`

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
  flagOf('is_loyal', ({ is_loyal }) => is_loyal),
  ['subscription', 'bigint', ({ subscription }, numbers) => numbers.subscription(subscription)],
  ...(['ends', 'open_until', 'converted_at', 'cancelled_at', 'refunded_at', 'refunded', 'refunded_proceeds', 'refunded_usd'] as const).map(
    name => bigint<Transaction>(name),
  ),
  bigint('paid_before'),
  small('renewal'),
  small('firsts'),
  ...(['created', 'first_trial_or_paid', 'first_paid', 'recorded', 'purchase'] as const).map(name => bigint<Transaction>(name)),
  ['event', 'text', ({ event }) => (event === null ? null : quotedText(event))],
]

type Change = Facts['changes'][number]

const stateColumns = (prefix: 'a' | 'b', stateIn: (change: Change) => ChangeState): Column<Change>[] => [
  [`${prefix}_state`, 'smallint', change => SUBSCRIPTION_STATE[stateIn(change).state]],
  flagOf(`${prefix}_renewing`, change => stateIn(change).renewing),
  [`${prefix}_amount`, 'bigint', change => stateIn(change).amount],
  [`${prefix}_usd_given`, 'bigint', change => stateIn(change).usd_given],
  flagOf(`${prefix}_is_intro`, change => stateIn(change).is_intro),
  [`${prefix}_length`, 'smallint', change => stateIn(change).length],
  [`${prefix}_bought_on`, 'int', change => stateIn(change).bought_on],
  ...(['platform', 'product', 'currency', 'country', 'app_version', 'locale'] as const).map(name =>
    wordOf<Change>(`${prefix}_${name}`, change => stateIn(change)[name]),
  ),
]

export const CHANGE_COLUMNS: Column<Change>[] = [
  ['subscription', 'bigint', ({ subscription }, numbers) => numbers.subscription(subscription)],
  bigint('happened'),
  bigint('counts_from'),
  ['cause', 'smallint', ({ cause }) => CHANGE_CAUSE[cause]],
  ...stateColumns('b', ({ before }) => before),
  ...stateColumns('a', ({ after }) => after),
  ...(['media', 'campaign'] as const).map(name => word<Change>(name)),
  ...(['paid_ended', 'trials_ended', 'cancelled'] as const).map(name => small<Change>(name)),
  bigint('recorded'),
]

const vocabularyOnly = <T>(columns: Column<T>[]) => columns.filter(([, , , isWord]) => isWord)

/** The columns with the number of a word. */
export const wordColumns = <T>(columns: Column<T>[]): string[] => vocabularyOnly(columns).map(([name]) => name)

const [USER_WORDS, TRANSACTION_WORDS, CHANGE_WORDS] = [
  vocabularyOnly(USER_COLUMNS),
  vocabularyOnly(TRANSACTION_COLUMNS),
  vocabularyOnly(CHANGE_COLUMNS),
]

/**
 * Adds every text of the facts that a word stands for. Column by column, because most rows have the text of the row before. `step`: of a computation
 * in steps.
 */
export async function addTexts(
  texts: Set<string>,
  { user, transactions, changes }: Facts,
  step: ReturnType<typeof inSteps>,
): Promise<void> {
  let last: string | null = null
  const numbers: Numbers = {
    word: text => {
      if (text !== last && text !== null && text !== '') texts.add(text)
      last = text
      return 0
    },
    subscription: () => null,
  }
  async function visit<T>(columns: Column<T>[], rows: T[]): Promise<void> {
    for (const [, , value] of columns) {
      for (const row of rows) value(row, numbers)
      const pause = step(rows.length / columns.length)
      if (pause) await pause
    }
  }
  await visit(USER_WORDS, [user])
  await visit(TRANSACTION_WORDS, transactions)
  await visit(CHANGE_WORDS, changes)
}

/** The values of a row in the order of the columns, as Postgres shows and reads a row, without its parentheses. */
export const contentOf = <T>(columns: Column<T>[], row: T, numbers: Numbers): string =>
  columns.map(([, , value]) => value(row, numbers)).join()

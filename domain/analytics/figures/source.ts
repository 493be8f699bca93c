import type { Grid } from './buckets.ts'

/** A value of a result row. Whole numbers of any size are bigint; there are no floats. */
export type Value = bigint | string | boolean | null
export type FigureRow = Record<string, Value>
/** An answer of many rows by its columns: those of whole numbers of at most 32 bits may be numbers. */
export type FigureColumns = { rows: number; column(name: string): readonly (Value | number)[] }

/**
 * A small relation that a statement brings along, named as a table in its text: factors of exchange, durations of products, sets of users,
 * edges of buckets. All columns are whole numbers and equally long; `wide`: up to 128 bits, otherwise 64. A relation never changes, so a driver
 * may keep what it made of the object.
 */
export type FigureRelation = { name: string; columns: FigureColumn[] }
export type FigureColumn = { name: string; wide?: boolean; values: readonly bigint[] | BigInt64Array }

/** A question to the facts in the SQL that both drivers understand. Its text contains whole numbers and names only, never a text of a user. */
export type FigureStatement = { text: string; relations?: FigureRelation[] }

/** Where the SQL of the two drivers differs. */
export type Dialect = {
  /** The relation for `from`, before an alias: the rows of the tables of the same name, without environment, generation, seq and tombstones. */
  tables: { transactions: string; changes: string; users: string }
  /** a ÷ `by` without its fraction, of whole numbers 0 ≤ a < `below`. */
  divide(a: string, by: number, below: number): string
  /** a ÷ b of wide numbers without its fraction. */
  divideWide(a: string, b: string): string
  /** The expression as a whole number of at least 128 bits, before it is multiplied or summed. */
  wide(expression: string): string
  /** The sum of wide numbers. Throws where it has more bits than the driver's numbers. */
  sum(expression: string): string
  /** A whole number from 0 until `below`, in the type by which rows are grouped fastest. */
  small(expression: string, below: number): string
  /** Whether a scan reads only the columns that it names. Then several scans, each of some of the rows, can cost less than one of all rows. */
  isColumnar: boolean
  /** How a change `row` moves the monthly amount: a number of `MOVES`. */
  moves(row: string): string
  /** The number of a change `row` by `samePriceSql`. */
  samePrice(row: string): string
  /** Whether a change `row` changes the state of its subscription, or its auto-renew. */
  changesState(row: string): string
  /** The sale attribution of a transaction `row`: a number of `SALE_ATTRIBUTION`. */
  attributionSql(row: string): string
  /** How long before a transaction `row` its user paid for the one before; null: never. */
  sincePaid(row: string): string
}

/**
 * Bounds of all facts; the facts may be within narrower bounds. `days`: of purchases. `currencies`: their numbers in the vocabulary; 0 is
 * among them if a currency is unknown. `paid`: the currencies in which a payment was made. `bits`: every amount is between −2^bits and
 * 2^bits. `areProceedsStated`: of any transaction.
 */
export type FactBounds = {
  days: { first: number; last: number }
  currencies: readonly number[]
  paid: readonly number[]
  bits: number
  areProceedsStated: boolean
}

/** The states of subscriptions that stood just before `at`, as a table. */
export type StockSnapshot = { at: number; table: string }

/**
 * Rows (user_no, happened) of users who were created, or had an event or a transaction, as a table. `isChained`: they also have `previous`, the time
 * of the row before of the same user, and `since`, the seconds since then; both are null in the first row of a user.
 */
export type ActiveTimes = { table: string; isChained: boolean }

/**
 * The facts of one environment at one moment. Both drivers pass the same conformance suite. A driver ends a statement after 30 s
 * (`upstream_timeout`).
 */
export type FactSource = {
  driver: 'postgres' | 'duckdb'
  dialect: Dialect
  /** Every fact that was recorded before this time counts (Unix seconds). */
  asOf: number
  /** By the rules of this version they were folded. */
  foldVersion: number
  /** null: the driver would have to read every fact to know. */
  bounds: FactBounds | null
  query(statement: FigureStatement): Promise<FigureRow[]>
  /** The same, for answers of many rows. */
  columns(statement: FigureStatement): Promise<FigureColumns>
  /** Times at which users were active, enough to decide who was active in each interval of the grid. `now`: the last second of facts. */
  activeTimes(grid: Grid, now: number): Promise<ActiveTimes>
  /** The snapshot of the last time up to `at` for which the driver keeps one; null: it has none. `now`: the last second of facts. */
  stockSnapshot(at: number, now: number): StockSnapshot | null
  /** The numbers of texts in the vocabulary; texts that no fact has are left out. */
  numbersOf(texts: string[]): Promise<Map<string, number>>
  textsOf(numbers: number[]): Promise<Map<number, string>>
  /** What `compute` found in the facts. A driver may keep it under the name `key` while the facts are the same. */
  kept<T>(key: string, compute: () => Promise<T>): Promise<T>
}

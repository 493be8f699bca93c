import type { DuckDBConnection, DuckDBResultReader, DuckDBVector } from '@duckdb/node-api'
import { Refusal } from '../../../kernel/refusal.ts'
import type { Grid } from '../buckets.ts'
import type { Dialect, FactBounds, FactSource, FigureColumns, FigureRelation, FigureRow, FigureStatement, Value } from '../source.ts'
import { Fallback, fallbackOf } from './failure.ts'
import { type KeptSnapshot, snapshotTime } from './stock-snapshots.ts'
import { TABLES } from './tables.ts'

const DAY = 86_400
/** DuckDB processes so many rows at once. */
const CHUNK_ROWS = 2_048

const LARGEST = 2n ** 63n - 1n

/**
 * SQL for a ÷ `by` without its fraction, for 0 ≤ a < `below`. A multiplication and a shift take half of the time of a division: with
 * f × by = 2^s + e, a × f ÷ 2^s is (a + a × e ÷ 2^s) ÷ by, which has the same whole part while a × e < 2^s.
 */
export function quotientSql(a: string, by: number, below: number): string {
  const [divisor, most] = [BigInt(by), BigInt(Math.max(1, below))]
  for (let shift = 0n; ; shift++) {
    const power = 1n << shift
    const factor = power / divisor + 1n
    if ((factor * divisor - power) * most >= power) continue
    return factor * most <= LARGEST ? `((${a} * ${factor}) >> ${shift})` : `(${a} // ${by})`
  }
}

const dialectOf = (schema: string): Dialect => ({
  tables: {
    transactions: `${schema}.${TABLES.transactions.name}`,
    changes: `${schema}.${TABLES.changes.name}`,
    users: `${schema}.${TABLES.users.name}`,
  },
  isColumnar: true,
  divide: quotientSql,
  divideWide: (a, b) => `(${a} // ${b})`,
  wide: expression => `(${expression})::hugeint`,
  sum: expression => `exact_sum(${expression})`,
  // Groups by numbers of one byte are counted in an array.
  small: (expression, below) => (below <= 256 ? `(${expression})::utinyint` : expression),
  moves: row => `${row}.moves`,
  samePrice: row => `${row}.same_price`,
  changesState: row => `${row}.changes_state`,
  attributionSql: row => `${row}.sold_as`,
  sincePaid: row => `${row}.since_paid`,
})

/** DuckDB's 128-bit sum wraps around without an error. The sum of the same numbers as floats shows whether it did. */
export const EXACT_SUM = `create or replace macro exact_sum(x) as
  case when abs(sum(x::double)) < 1e38 then sum(x) when count(x) = 0 then null else error('Out of Range Error: a sum of more than 128 bits') end`

/** Stores a relation as a temporary table of the connection. */
async function addRelation(connection: DuckDBConnection, { name, columns }: FigureRelation): Promise<void> {
  const { BIGINT, DuckDBDataChunk, HUGEINT } = await import('@duckdb/node-api')
  await connection.run(
    `create or replace temp table ${name} (${columns.map(column => `${column.name} ${column.wide ? 'HUGEINT' : 'BIGINT'}`).join(', ')})`,
  )
  const types = columns.map(({ wide }) => (wide ? HUGEINT : BIGINT))
  const rows = columns[0]?.values.length ?? 0
  if (rows === 0) return
  const appender = await connection.createAppender(name)
  try {
    for (let first = 0; first < rows; first += CHUNK_ROWS) {
      const size = Math.min(CHUNK_ROWS, rows - first)
      const chunk = DuckDBDataChunk.create(types, size)
      for (const [i, { values }] of columns.entries()) {
        const vector = chunk.getColumnVector(i) as DuckDBVector & { setItem(row: number, value: bigint): void; flush(): void }
        for (let row = 0; row < size; row++) vector.setItem(row, values[first + row]!)
        vector.flush()
      }
      appender.appendDataChunk(chunk)
    }
  } finally {
    appender.closeSync()
  }
}

function columnsOf(read: DuckDBResultReader): FigureColumns {
  const names = read.columnNames()
  const columns = read.getColumns() as (Value | number)[][]
  return { rows: read.currentRowCount, column: name => columns[names.indexOf(name)]! }
}

function rowsOf(read: DuckDBResultReader): FigureRow[] {
  const { rows, column } = columnsOf(read)
  const columns = read.columnNames().map(name => ({ name, values: column(name) }))
  return Array.from({ length: rows }, (_, i) => {
    const row: FigureRow = {}
    for (const { name, values } of columns) {
      const value = values[i]!
      row[name] = typeof value === 'number' ? BigInt(value) : value
    }
    return row
  })
}

/** A connection and the relations that are stored as its temporary tables. */
export type Session = { connection: DuckDBConnection; relations: Map<string, FigureRelation> }

/**
 * The state of the open transaction: the `numbers` of texts, as far as questions needed them, what questions `found` in the same facts, and the
 * snapshots of stocks that the transaction sees.
 */
export type Snapshot = {
  asOf: number
  foldVersion: number
  bounds: FactBounds
  numbers: Map<string, number>
  found: Map<string, Promise<unknown>>
  snapshots: readonly KeptSnapshot[]
}

/** The table of times at which users were active. Of times up to `settled` it has the first and the last one of each user and UTC day. */
export type KeptTimes = { table: string; settled: number }

/** Whether these times tell who was active in each interval of the grid: each interval contains a midnight or begins after `settled`. */
const isKnownByDays = ({ starts, end }: Grid, now: number, settled: number): boolean => {
  const last = Math.min(end, now + 1)
  const isKnown = (from: number, to: number) => from >= to || to > settled || Math.ceil(from / DAY) * DAY <= to
  return starts.every((start, i) => isKnown(start, Math.min(starts[i + 1] ?? end, last)))
}

/**
 * The facts of a replica in the transaction that is open on the connection. `deadline`: by performance.now(). `want`: is called with the
 * time of a snapshot that is missing.
 */
export async function onReplica(
  { connection, relations }: Session,
  {
    schema,
    asOf,
    foldVersion,
    bounds,
    deadline,
    numbers,
    found,
    snapshots,
    want,
    times,
  }: Snapshot & { schema: string; deadline: number; want: (at: number) => void; times: KeptTimes | null },
): Promise<FactSource> {
  const { LIST, listValue, VARCHAR } = await import('@duckdb/node-api')
  const vocabulary = `${schema}.${TABLES.vocabulary.name}`
  const read = async (text: string, texts?: string[]): Promise<DuckDBResultReader> => {
    const left = deadline - performance.now()
    const tooLate = new Refusal('upstream_timeout', 'the database took too long')
    if (left < 1) throw tooLate
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      connection.interrupt()
    }, left)
    try {
      return await (texts ? connection.runAndReadAll(text, [listValue(texts)], [LIST(VARCHAR)]) : connection.runAndReadAll(text))
    } catch (error) {
      throw isLate ? tooLate : fallbackOf(error)
    } finally {
      clearTimeout(timer)
    }
  }
  const run = async (text: string, texts?: string[]): Promise<FigureRow[]> => rowsOf(await read(text, texts))
  const answered = async ({ text, relations: named = [] }: FigureStatement): Promise<DuckDBResultReader> => {
    for (const relation of named) {
      if (relations.get(relation.name) === relation) continue
      await addRelation(connection, relation).catch(error => {
        throw fallbackOf(error)
      })
      relations.set(relation.name, relation)
    }
    return read(text)
  }
  return {
    driver: 'duckdb',
    dialect: dialectOf(schema),
    asOf,
    foldVersion,
    bounds,
    query: async statement => rowsOf(await answered(statement)),
    columns: async statement => columnsOf(await answered(statement)),
    async activeTimes(grid, now) {
      if (times === null || !isKnownByDays(grid, now, times.settled)) throw new Fallback('times', 'only the log has all times of events')
      return { table: times.table, isChained: true }
    },
    stockSnapshot(at, now) {
      const month = snapshotTime(at, now)
      if (month === null) return null
      const found = snapshots.find(one => one.at === month && one.countsFrom <= now)
      if (!found) want(month)
      return found ?? null
    },
    async numbersOf(texts) {
      const missing = texts.filter(text => !numbers.has(text))
      if (missing.length > 0) {
        const text = `select no, word from ${vocabulary} where word in (select unnest($1))`
        for (const { no, word } of await run(text, missing)) numbers.set(word as string, Number(no))
      }
      return new Map(texts.flatMap(text => (numbers.has(text) ? [[text, numbers.get(text)!] as const] : [])))
    },
    async textsOf(numbers) {
      if (numbers.length === 0) return new Map()
      const rows = await run(`select no, word from ${vocabulary} where no in (${numbers.join(', ')})`)
      return new Map(rows.map(({ no, word }) => [Number(no), word as string]))
    },
    kept<T>(key: string, compute: () => Promise<T>) {
      const known = found.get(key) as Promise<T> | undefined
      if (known) return known
      const computed = compute()
      found.set(key, computed)
      // The next question tries it again.
      computed.catch(() => found.delete(key))
      return computed
    },
  }
}

import type { DuckDBConnection } from '@duckdb/node-api'
import { exactly, inDuckDb, quoted } from './duckdb.ts'
import { markTimesAsUtc } from './parquet-times.ts'

/** decimal: DECIMAL(18,6). time: TIMESTAMP(ms, UTC). integer: 64 bits. */
export type ParquetType = 'text' | 'decimal' | 'time' | 'boolean' | 'integer'
export type ParquetColumn = { name: string; type: ParquetType }

export type ParquetOptions = {
  /** CSV files without header, taken one after the other; an empty field is null, a quoted empty one an empty text. */
  sources: string[]
  columns: readonly ParquetColumn[]
  /** How many there are in the sources: the reader passes over a last line that is cut short without a word. */
  rows: number
  target: string
  /** Folder for what does not fit into memory; made when needed. */
  spill: string
  signal: AbortSignal
}

const SQL_TYPES: Record<ParquetType, string> = {
  text: 'VARCHAR',
  decimal: 'DECIMAL(18,6)',
  time: 'TIMESTAMP_MS',
  boolean: 'BOOLEAN',
  integer: 'BIGINT',
}

/** The reader's buffer, of which it holds a few; and the longest line, which must fit in. */
const BUFFER_BYTES = 2 * 1024 * 1024
const LINE_BYTES = 1024 * 1024

/**
 * Writes one Parquet file of the rows of all sources, in their order. Not synced to the disk. Throws with code EIO when reading or
 * writing failed, or when the file does not have all the rows.
 */
export const writeParquet = ({ sources, columns, rows, target, spill, signal }: ParquetOptions): Promise<void> =>
  inDuckDb({ spill, signal }, async (connection, groupRows) => {
    await connection.run(
      `copy (select * from read_csv([${sources.map(exactly).join(', ')}], auto_detect = false, header = false, delim = ',', quote = '"',
         escape = '"', new_line = '\\n', nullstr = '', allow_quoted_nulls = false, parallel = false, buffer_size = ${BUFFER_BYTES},
         max_line_size = ${LINE_BYTES}, columns = {${columns.map(({ name, type }) => `${quoted(name)}: '${SQL_TYPES[type]}'`).join(', ')}}))
       to ${quoted(target)} (format parquet, compression zstd, row_group_size ${groupRows})`,
    )
    signal.throwIfAborted()
    await markTimesAsUtc(target, columns.filter(({ type }) => type === 'time').length)
    await expectRows(connection, target, rows)
  })

export async function expectRows(connection: DuckDBConnection, target: string, rows: number): Promise<void> {
  const read = await connection.runAndReadAll(`select num_rows from parquet_file_metadata(${exactly(target)})`)
  const written = Number(read.getRows()[0]?.[0])
  if (written !== rows) throw Object.assign(new Error(`the Parquet file has ${written} rows, its sources ${rows}`), { code: 'EIO' })
}

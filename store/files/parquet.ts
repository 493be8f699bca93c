import type { DuckDBConnection } from '@duckdb/node-api'
import { inDuckDb, sqlPath, sqlText } from './duckdb.ts'
import { markTimesAsUtc } from './parquet-times.ts'

/** decimal: DECIMAL(18,6). time: TIMESTAMP(ms, UTC). integer: 64 bits. */
export type ParquetType = 'text' | 'decimal' | 'time' | 'boolean' | 'integer'
export type ParquetColumn = { name: string; type: ParquetType }

export type ParquetOptions = {
  /** CSV files without a header, read one after the other. An empty field is null, a quoted empty field is an empty text. */
  sources: string[]
  columns: readonly ParquetColumn[]
  /** The number of rows in the sources. DuckDB drops a last line that is cut short without an error. */
  rows: number
  target: string
  /** Folder for data that does not fit into memory; DuckDB creates it when needed. */
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

/** A buffer of the CSV reader, which has a few of them, and the longest line, which must fit into one. */
const BUFFER_BYTES = 2 * 1024 * 1024
const LINE_BYTES = 1024 * 1024

/**
 * Writes the rows of all sources, in their order, to one Parquet file. The file is not synced to the disk. Throws with code EIO when a
 * read or write failed, or when the file does not have all rows.
 */
export const writeParquet = ({ sources, columns, rows, target, spill, signal }: ParquetOptions): Promise<void> =>
  inDuckDb({ spill, signal }, async (connection, groupRows) => {
    await connection.run(
      `copy (select * from read_csv([${sources.map(sqlPath).join(', ')}], auto_detect = false, header = false, delim = ',', quote = '"',
         escape = '"', new_line = '\\n', nullstr = '', allow_quoted_nulls = false, parallel = false, buffer_size = ${BUFFER_BYTES},
         max_line_size = ${LINE_BYTES}, columns = {${columns.map(({ name, type }) => `${sqlText(name)}: '${SQL_TYPES[type]}'`).join(', ')}}))
       to ${sqlText(target)} (format parquet, compression zstd, row_group_size ${groupRows})`,
    )
    signal.throwIfAborted()
    await markTimesAsUtc(target, columns.filter(({ type }) => type === 'time').length)
    await expectRows(connection, target, rows)
  })

export async function expectRows(connection: DuckDBConnection, target: string, rows: number): Promise<void> {
  const read = await connection.runAndReadAll(`select num_rows from parquet_file_metadata(${sqlPath(target)})`)
  const written = Number(read.getRows()[0]?.[0])
  if (written !== rows) throw Object.assign(new Error(`the Parquet file has ${written} rows, its sources ${rows}`), { code: 'EIO' })
}

import { inDuckDb, sqlPath, sqlText } from './duckdb.ts'
import { expectRows } from './parquet.ts'
import { markTimesAsUtc } from './parquet-times.ts'

export type ParquetFilterOptions = {
  /** A file that `writeParquet` or this function wrote. */
  source: string
  /** The text column that decides. */
  column: string
  /** HMAC-SHA256, in hexadecimal, of the values whose rows are removed. */
  pseudonyms: string[]
  /** The two blocks, in hexadecimal, that the key of this HMAC puts before its two hashes: DuckDB has SHA-256 only. */
  pads: { inner: string; outer: string }
  target: string
  spill: string
  signal: AbortSignal
}

/** Copies a Parquet file without some rows, in the same order and with the same types. Resolves to the number of rows in the copy; null: there was no row to remove, and no file was written. */
export const filterParquet = ({ source, column, pseudonyms, pads, target, spill, signal }: ParquetFilterOptions): Promise<number | null> =>
  inDuckDb({ spill, signal }, async (connection, groupRows) => {
    const query = async (sql: string) => (await connection.runAndReadAll(sql)).getRowsJson()
    const from = `from read_parquet(${sqlPath(source)})`
    const inner = `from_hex(sha256(from_hex('${pads.inner}') || encode("${column}")))`
    const isRemoved = `coalesce(sha256(from_hex('${pads.outer}') || ${inner}) in (${pseudonyms.map(sqlText).join(', ')}), false)`
    const counted = await query(`select count(*), count(*) filter (where ${isRemoved}) ${from}`)
    const [all, removed] = counted[0]!.map(Number) as [number, number]
    if (removed === 0) return null
    signal.throwIfAborted()
    // DuckDB reads times of UTC as zoned times with microseconds. Written like that, the columns would have another type.
    const times = (await query(`describe select * ${from}`)).filter(([, type]) => type === 'TIMESTAMP WITH TIME ZONE').map(([name]) => name)
    const typed = times.map(name => `make_timestamp_ms(epoch_ms("${name}"))::timestamp_ms as "${name}"`)
    await connection.run(
      `copy (select * ${typed.length > 0 ? `replace (${typed.join(', ')})` : ''} ${from} where not ${isRemoved})
       to ${sqlText(target)} (format parquet, compression zstd, row_group_size ${groupRows})`,
    )
    signal.throwIfAborted()
    await markTimesAsUtc(target, times.length)
    await expectRows(connection, target, all - removed)
    return all - removed
  })

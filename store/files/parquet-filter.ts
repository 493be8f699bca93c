import { exactly, inDuckDb, quoted } from './duckdb.ts'
import { expectRows } from './parquet.ts'
import { markTimesAsUtc } from './parquet-times.ts'

export type ParquetFilterOptions = {
  /** A file that `writeParquet` has made, or this function. */
  source: string
  /** The text column whose values are looked at. */
  column: string
  /** SHA-256 in hexadecimal of the values whose rows go. */
  sha256s: string[]
  target: string
  spill: string
  signal: AbortSignal
}

/** Copies a Parquet file without some rows, in the same order and with the same types. Resolves to its rows; null: no row had to go, and no file was made. */
export const filterParquet = ({ source, column, sha256s, target, spill, signal }: ParquetFilterOptions): Promise<number | null> =>
  inDuckDb({ spill, signal }, async (connection, groupRows) => {
    const ask = async (sql: string) => (await connection.runAndReadAll(sql)).getRowsJson()
    const from = `from read_parquet(${exactly(source)})`
    const goes = `coalesce(sha256("${column}") in (${sha256s.map(quoted).join(', ')}), false)`
    const counted = await ask(`select count(*), count(*) filter (where ${goes}) ${from}`)
    const [all, going] = counted[0]!.map(Number) as [number, number]
    if (going === 0) return null
    signal.throwIfAborted()
    // Times of UTC are read back as zoned ones, of microseconds: written like that they would change their type.
    const times = (await ask(`describe select * ${from}`)).filter(([, type]) => type === 'TIMESTAMP WITH TIME ZONE').map(([name]) => name)
    const typed = times.map(name => `make_timestamp_ms(epoch_ms("${name}"))::timestamp_ms as "${name}"`)
    await connection.run(
      `copy (select * ${typed.length > 0 ? `replace (${typed.join(', ')})` : ''} ${from} where not ${goes})
       to ${quoted(target)} (format parquet, compression zstd, row_group_size ${groupRows})`,
    )
    signal.throwIfAborted()
    await markTimesAsUtc(target, times.length)
    await expectRows(connection, target, all - going)
    return all - going
  })

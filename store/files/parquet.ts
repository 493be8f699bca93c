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

/**
 * What DuckDB may take, from the usual to what the widest rows there can be need: it works on 2,048 rows at once and holds them about
 * seven times, and a row may have 40 KB (100 properties of a user). At 0.4 KB a row the first one adds 80 MB to the process.
 */
const TRIES = [
  { groupRows: 16_384, memory: '128MB' },
  { groupRows: 2_048, memory: '128MB' },
  { groupRows: 2_048, memory: '384MB' },
  { groupRows: 2_048, memory: '1GB' },
] as const
type Try = (typeof TRIES)[number]

/** The reader's buffer, of which it holds a few; and the longest line, which must fit in. */
const BUFFER_BYTES = 2 * 1024 * 1024
const LINE_BYTES = 1024 * 1024

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`
/** Of a file to be read: a pattern unless each character that could be one is in brackets. */
const exactly = (path: string) => quoted(path.replaceAll(/[*?[]/g, '[$&]'))

/**
 * Writes one Parquet file of the rows of all sources, in their order. Not synced to the disk. Throws with code EIO when reading or
 * writing failed, or when the file does not have all the rows.
 */
export async function writeParquet(options: ParquetOptions): Promise<void> {
  for (const [n, attempt] of TRIES.entries()) {
    try {
      return await write(options, attempt)
    } catch (error) {
      options.signal.throwIfAborted()
      const message = error instanceof Error ? error.message : String(error)
      if (/^IO Error/.test(message)) throw Object.assign(new Error(message), { code: 'EIO' })
      if (!/^Out of Memory Error/.test(message) || n === TRIES.length - 1) throw error
    }
  }
  throw new Error('unreachable')
}

async function write({ sources, columns, rows, target, spill, signal }: ParquetOptions, { groupRows, memory }: Try): Promise<void> {
  // 20 MB that a process which makes no such file does not need.
  const { DuckDBInstance } = await import('@duckdb/node-api')
  const database = await DuckDBInstance.create(':memory:', {
    threads: '1',
    memory_limit: memory,
    preserve_insertion_order: 'true',
    temp_directory: spill,
    autoinstall_known_extensions: 'false',
  })
  const connection = await database.connect()
  const interrupt = () => connection.interrupt()
  signal.addEventListener('abort', interrupt)
  try {
    signal.throwIfAborted()
    await connection.run(
      `copy (select * from read_csv([${sources.map(exactly).join(', ')}], auto_detect = false, header = false, delim = ',', quote = '"',
         escape = '"', new_line = '\\n', nullstr = '', allow_quoted_nulls = false, parallel = false, buffer_size = ${BUFFER_BYTES},
         max_line_size = ${LINE_BYTES}, columns = {${columns.map(({ name, type }) => `${quoted(name)}: '${SQL_TYPES[type]}'`).join(', ')}}))
       to ${quoted(target)} (format parquet, compression zstd, row_group_size ${groupRows})`,
    )
    signal.throwIfAborted()
    await markTimesAsUtc(target, columns.filter(({ type }) => type === 'time').length)
    const read = await connection.runAndReadAll(`select num_rows from parquet_file_metadata(${exactly(target)})`)
    const written = Number(read.getRows()[0]?.[0])
    if (written !== rows) throw Object.assign(new Error(`the Parquet file has ${written} rows, its sources ${rows}`), { code: 'EIO' })
  } finally {
    signal.removeEventListener('abort', interrupt)
    connection.closeSync()
    database.closeSync()
  }
}

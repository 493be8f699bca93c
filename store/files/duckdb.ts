import type { DuckDBConnection } from '@duckdb/node-api'

/**
 * Settings for DuckDB, from the usual rows to the widest rows possible. DuckDB processes 2,048 rows at once and holds each about seven
 * times, and a row has up to 40 KB (100 properties of a user). With rows of 0.4 KB the first setting adds 80 MB to the process.
 */
const SETTINGS = [
  { groupRows: 16_384, memory: '128MB' },
  { groupRows: 2_048, memory: '128MB' },
  { groupRows: 2_048, memory: '384MB' },
  { groupRows: 2_048, memory: '1GB' },
] as const
type Setting = (typeof SETTINGS)[number]

export const sqlText = (text: string) => `'${text.replaceAll("'", "''")}'`
/** The path of a file to read, as an SQL text. DuckDB takes the path for a pattern: the characters of patterns stand in brackets. */
export const sqlPath = (path: string) => sqlText(path.replaceAll(/[*?[]/g, '[$&]'))

export type DuckDbOptions = {
  /** Folder for data that does not fit into memory; DuckDB creates it when needed. */
  spill: string
  signal: AbortSignal
}
type Work<T> = (connection: DuckDBConnection, groupRows: number) => Promise<T>

/** Runs `work` in a new DuckDB, and repeats it with more memory when the memory was too little. Throws with code EIO when a read or write failed. */
export async function inDuckDb<T>(options: DuckDbOptions, work: Work<T>): Promise<T> {
  for (const [n, setting] of SETTINGS.entries()) {
    try {
      return await runOnce(options, setting, work)
    } catch (error) {
      options.signal.throwIfAborted()
      const message = error instanceof Error ? error.message : String(error)
      if (/^IO Error/.test(message)) throw Object.assign(new Error(message), { code: 'EIO' })
      if (!/^Out of Memory Error/.test(message) || n === SETTINGS.length - 1) throw error
    }
  }
  throw new Error('unreachable')
}

async function runOnce<T>({ spill, signal }: DuckDbOptions, { groupRows, memory }: Setting, work: Work<T>): Promise<T> {
  // Loaded on first use: it takes 20 MB, and most processes write no Parquet file.
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
    return await work(connection, groupRows)
  } finally {
    signal.removeEventListener('abort', interrupt)
    connection.closeSync()
    database.closeSync()
  }
}

import type { DuckDBConnection } from '@duckdb/node-api'

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

export const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`
/** Of a file to be read: a pattern unless each character that could be one is in brackets. */
export const exactly = (path: string) => quoted(path.replaceAll(/[*?[]/g, '[$&]'))

export type DuckDbOptions = {
  /** Folder for what does not fit into memory; made when needed. */
  spill: string
  signal: AbortSignal
}
type Work<T> = (connection: DuckDBConnection, groupRows: number) => Promise<T>

/** Runs `work` in a DuckDB of its own, again with more memory when that was too little. Throws with code EIO when reading or writing failed. */
export async function inDuckDb<T>(options: DuckDbOptions, work: Work<T>): Promise<T> {
  for (const [n, attempt] of TRIES.entries()) {
    try {
      return await once(options, attempt, work)
    } catch (error) {
      options.signal.throwIfAborted()
      const message = error instanceof Error ? error.message : String(error)
      if (/^IO Error/.test(message)) throw Object.assign(new Error(message), { code: 'EIO' })
      if (!/^Out of Memory Error/.test(message) || n === TRIES.length - 1) throw error
    }
  }
  throw new Error('unreachable')
}

async function once<T>({ spill, signal }: DuckDbOptions, { groupRows, memory }: Try, work: Work<T>): Promise<T> {
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
    return await work(connection, groupRows)
  } finally {
    signal.removeEventListener('abort', interrupt)
    connection.closeSync()
    database.closeSync()
  }
}

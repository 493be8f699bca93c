import type { Hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { to as copyTo } from 'pg-copy-streams'
import type { Part } from '../../domain/reporting/exports/export.ts'
import { type Bound, type ExportSource, partRange } from '../../domain/reporting/exports/parts.ts'
import { copyRows, exportColumnsOf } from '../../domain/reporting/exports/statement.ts'
import type { Pool } from '../../store/connect.ts'
import type { FileStorage } from '../../store/files/storage.ts'

export type PartOptions = {
  pool: Pool
  storage: FileStorage
  job: ExportSource
  file: string
  name: string
  after: Bound
  upto: Bound
  /** Whether a row was written before this part (json: whether a comma comes first). */
  isContinued: boolean
  isFirst: boolean
  isLast: boolean
  /** Hash of the file so far; the part's bytes are added. */
  hash: Hash
  signal: AbortSignal
}

const csvHeader = (job: ExportSource) =>
  `${exportColumnsOf(job)
    .map(column => column.header)
    .join(',')}\n`

/** The part's bytes before compression: the beginning of the file, the rows as Postgres formats them, the end of the file. */
async function* content(rows: AsyncIterable<Buffer>, { job, isFirst, isLast, isContinued }: PartOptions): AsyncGenerator<Buffer> {
  if (isFirst && job.format === 'csv') yield Buffer.from(csvHeader(job))
  if (isFirst && job.format === 'json') yield Buffer.from('[')
  let drop = job.format === 'json' && !isContinued ? 1 : 0
  for await (const chunk of rows) {
    yield drop > 0 ? chunk.subarray(drop) : chunk
    drop = 0
  }
  if (isLast && job.format === 'json') yield Buffer.from(']\n')
}

async function* hashed(source: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    hash.update(chunk)
    yield chunk
  }
}

/** Copies the rows of one part into storage; with gzip the part is a complete member. */
export async function writePart(options: PartOptions): Promise<Part> {
  const { pool, storage, job, file, name, hash, signal } = options
  const client = await pool.connect()
  let failure: unknown
  try {
    // On Deno the rows of a COPY never come if it is the first statement on a connection that has been idle.
    await client.query('begin read only')
    const range = partRange(job, options.after, options.upto)
    const copy = client.query(copyTo(copyRows(job, range), { highWaterMark: 64 * 1024 }))
    const plain = Readable.from(content(copy, options), { objectMode: false, highWaterMark: 64 * 1024 })
    const zipped = job.compression === 'gzip' ? createGzip({ level: 6 }) : undefined
    // The reader of a stream gets its error. A stream without reader (the storage failed first) must not end the process with it.
    for (const stream of [copy, plain, zipped]) stream?.on('error', () => {})
    const zipping = zipped ? pipeline(plain, zipped, { signal }) : undefined
    const [{ bytes }] = await Promise.all([storage.writePart(file, name, hashed(zipped ?? plain, hash), signal), zipping])
    // The rows end before their statement does, and only its end says how many they were: the commit is answered after it.
    await client.query('commit')
    return { name, rows: copy.rowCount, bytes }
  } catch (error) {
    failure = error
    throw error
  } finally {
    // After a failure the connection may be in the middle of the COPY: to close it ends the statement on the server, too.
    client.release(failure !== undefined)
  }
}

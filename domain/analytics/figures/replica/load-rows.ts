import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import { to as copyTo } from 'pg-copy-streams'
import type { Pool, Tx } from '../../../../store/connect.ts'
import { sqlPath, sqlText } from '../../../../store/files/duckdb.ts'

/**
 * `sql` selects rows in Postgres for the table `into` of DuckDB, which has the given columns. `beside`: the file of the replica; the names
 * of temporary files begin with its name. `order`: by which the rows of each part are sorted, which has a million rows or fewer.
 */
export type RowsToLoad = {
  connection: DuckDBConnection
  beside: string
  sql: string
  into: string
  columns: readonly { name: string; type: string }[]
  order?: string | undefined
}

/** The copy of rows waits for the disk, and the snapshot in which they are read stays open meanwhile. */
const PATIENT = `set local statement_timeout = '10min'; set local idle_in_transaction_session_timeout = '10min'`

/**
 * Reads rows to load, in one snapshot. After a failure the connection is closed: a COPY that is not read to its end blocks later
 * statements. A rollback after such a COPY waited 75 s, until the connection counted as dead.
 */
export async function inSnapshot<T>(pool: Pool, work: (tx: Tx) => Promise<T>): Promise<T> {
  const tx = await pool.connect()
  let isSound = false
  try {
    await tx.query('begin isolation level repeatable read read only')
    await tx.query(PATIENT)
    const made = await work(tx)
    await tx.query('rollback').then(
      () => {
        isSound = true
      },
      () => {},
    )
    return made
  } finally {
    tx.release(!isSound)
  }
}

/** The suffix of temporary files with rows for a replica. Their names begin with the name of the replica's file. */
export const PART = '.csv'

const CHUNK_BYTES = 256 * 1024
/** DuckDB reads one such file while Postgres writes the next one. */
const FILE_BYTES = 32 * 1024 * 1024
const NEWLINE = 10
/** A buffer of the CSV reader, which has several. */
const BUFFER_BYTES = 4 * 1024 * 1024
const LINE_BYTES = 1024 * 1024

/** A file with a part of the rows. */
type Part = { path: string; file: FileHandle; bytes: number }

/** Copies the rows from Postgres into DuckDB through CSV files, so that no row becomes an object of this process. Returns the number of rows. */
export async function loadRows(tx: Tx, { connection, beside, sql, into, columns, order }: RowsToLoad): Promise<number> {
  // On Deno a COPY on a connection that was idle before hangs. A statement right before the COPY prevents that.
  await tx.query('select 1')
  const copy = tx.query(copyTo(`copy (${sql}) to stdout (format csv)`, { highWaterMark: CHUNK_BYTES }))
  const types = columns.map(({ name, type }) => `${sqlText(name)}: '${type}'`).join(', ')
  const load = async ({ path, file }: Part): Promise<void> => {
    await file.close()
    await connection.run(`insert into ${into} select * from read_csv(${sqlPath(path)}, auto_detect = false, header = false, delim = ',', quote = '"',
      escape = '"', new_line = '\\n', nullstr = '', allow_quoted_nulls = false, buffer_size = ${BUFFER_BYTES}, max_line_size = ${LINE_BYTES},
      columns = {${types}})${order === undefined ? '' : ` order by ${order}`}`)
    await unlink(path)
  }
  // A text may contain line breaks. Where a table has texts, a line break need not be the end of a row.
  const isDivisible = columns.every(({ type }) => type !== 'VARCHAR')
  let loading: Promise<void> = Promise.resolve()
  let part: Part | null = null
  try {
    for await (const chunk of copy as AsyncIterable<Buffer>) {
      part ??= await newPart(beside)
      const end = isDivisible && part.bytes + chunk.length > FILE_BYTES ? chunk.lastIndexOf(NEWLINE) + 1 : 0
      if (end === 0) {
        await append(part, chunk)
        continue
      }
      await append(part, chunk.subarray(0, end))
      await loading
      loading = load(part)
      loading.catch(() => {})
      part = await newPart(beside)
      await append(part, chunk.subarray(end))
    }
    await loading
    if (part) await load(part)
    part = null
  } finally {
    copy.destroy()
    await loading.catch(() => {})
    await part?.file.close().catch(() => {})
    if (part) await unlink(part.path).catch(() => {})
  }
  return copy.rowCount
}

async function newPart(beside: string): Promise<Part> {
  const path = `${beside}.${randomUUID()}${PART}`
  return { path, file: await open(path, 'wx', 0o600), bytes: 0 }
}

async function append(part: Part, bytes: Buffer): Promise<void> {
  await part.file.writeFile(bytes)
  part.bytes += bytes.length
}

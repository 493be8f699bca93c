import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import { to as copyTo } from 'pg-copy-streams'
import type { Pool, Tx } from '../../../../store/connect.ts'
import { sqlPath, sqlText } from '../../../../store/files/duckdb.ts'

/** `sql`: rows of Postgres, for the table `into` of DuckDB, whose columns are given. `beside`: the file whose name those begin with that do not last. */
export type RowsToLoad = {
  connection: DuckDBConnection
  beside: string
  sql: string
  into: string
  columns: readonly { name: string; type: string }[]
}

/** Rows on their way to a file wait for the disk; the snapshot that they are read in waits with them. */
const PATIENT = `set local statement_timeout = '10min'; set local idle_in_transaction_session_timeout = '10min'`

/**
 * Reads rows to load, in one snapshot. After a failure the connection is closed: a COPY that nobody reads to its end lets no other statement
 * through, and a rollback behind it waited 75 s, until the connection counted as silent.
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

/** What the names of files with rows on their way to a replica end with; they begin with the name of its file. */
export const PART = '.csv'

const CHUNK_BYTES = 256 * 1024
/** While DuckDB reads one such file, Postgres writes the next one. */
const FILE_BYTES = 32 * 1024 * 1024
const NEWLINE = 10
/** Of the CSV reader, which has some of them. */
const BUFFER_BYTES = 4 * 1024 * 1024
const LINE_BYTES = 1024 * 1024

/** A part of the rows, as a file. */
type Part = { path: string; file: FileHandle; bytes: number }

/** Copies the rows from Postgres into DuckDB, by way of files of CSV: no row is an object of this process. Returns how many there are. */
export async function loadRows(tx: Tx, { connection, beside, sql, into, columns }: RowsToLoad): Promise<number> {
  // On Deno a COPY on a connection that was idle before hangs. A statement right before the COPY prevents that.
  await tx.query('select 1')
  const copy = tx.query(copyTo(`copy (${sql}) to stdout (format csv)`, { highWaterMark: CHUNK_BYTES }))
  const types = columns.map(({ name, type }) => `${sqlText(name)}: '${type}'`).join(', ')
  const load = async ({ path, file }: Part): Promise<void> => {
    await file.close()
    await connection.run(`insert into ${into} select * from read_csv(${sqlPath(path)}, auto_detect = false, header = false, delim = ',', quote = '"',
      escape = '"', new_line = '\\n', nullstr = '', allow_quoted_nulls = false, buffer_size = ${BUFFER_BYTES}, max_line_size = ${LINE_BYTES},
      columns = {${types}})`)
    await unlink(path)
  }
  // A text may have line breaks: where there are texts, a line break need not be the end of a row.
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

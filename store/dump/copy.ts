import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import type { Tx } from '../connect.ts'
import { identifier, type Table } from './catalogue.ts'
import { type FileFacts, writeNew } from './file.ts'

// The text format of COPY, as in pg_dump. Another major version of Postgres need not read the binary format (the embedded server may be
// newer than the operator's own), and Postgres before 18 takes a line `\.` within a CSV value for the end of the data.

const CHUNK_BYTES = 256 * 1024

/** Session settings that make the text exact and equal on every server. */
export const EXACT_TEXT = `set local extra_float_digits = 3; set local bytea_output = 'hex'`

const columnsOf = ({ columns }: Table) => columns.map(identifier).join(', ')

/** `onBytes`: called with the size of each piece: of the text that is dumped, of the file that is loaded. */
export type CopyOptions = { signal: AbortSignal; onBytes?: ((bytes: number) => void) | undefined }

async function* counted(pieces: AsyncIterable<Buffer>, onBytes: CopyOptions['onBytes']): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    onBytes?.(piece.length)
    yield piece
  }
}

/** Streams a table into a new gzip file. */
export async function dumpTable(
  tx: Tx,
  table: Table,
  path: string,
  { signal, onBytes }: CopyOptions,
): Promise<FileFacts & { rows: number }> {
  // On Deno a COPY on a connection that was idle before hangs. A statement right before the COPY prevents that.
  await tx.query('select 1')
  const query = `copy (select ${columnsOf(table)} from public.${identifier(table.name)}) to stdout`
  const copy = tx.query(copyTo(query, { highWaterMark: CHUNK_BYTES }))
  let facts: FileFacts | undefined
  // Level 1 is four times as fast as the default level, and the file is a tenth larger.
  await pipeline(
    copy,
    text => counted(text, onBytes),
    createGzip({ level: 1, chunkSize: CHUNK_BYTES }),
    async (zipped: AsyncIterable<Buffer>) => {
      facts = await writeNew(path, zipped)
    },
    { signal },
  )
  return { ...facts!, rows: copy.rowCount }
}

/** Fills an empty table from such a file; returns the number of rows. */
export async function loadTable(tx: Tx, table: Table, path: string, { signal, onBytes }: CopyOptions): Promise<number> {
  await tx.query('select 1')
  const copy = tx.query(copyFrom(`copy public.${identifier(table.name)} (${columnsOf(table)}) from stdin`))
  const zipped = createReadStream(path, { highWaterMark: CHUNK_BYTES })
  await pipeline(zipped, pieces => counted(pieces, onBytes), createGunzip({ chunkSize: CHUNK_BYTES }), copy, { signal })
  return copy.rowCount
}

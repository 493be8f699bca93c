import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { errno } from '../embedded/refusal.ts'
import { type FileFacts, factsOf } from './file.ts'
import { DumpRefused, type Manifest, tableFile } from './manifest.ts'

/** `onBytes`: called with the size of each piece that was read. */
export type VerifyOptions = { signal: AbortSignal; onBytes?: ((bytes: number) => void) | undefined }

const NEWLINE = 10
const CHUNK_BYTES = 256 * 1024

/** How many bytes a verification reads. */
export const bytesOf = ({ tables, files }: Manifest): number => [...tables, ...files].reduce((sum, { bytes }) => sum + bytes, 0)

/** Reads every file of the backup once and compares it with the manifest. `countRows`: the rows of each table, too. */
export async function verifyFiles(dir: string, { tables, files }: Manifest, options: VerifyOptions, countRows = false): Promise<void> {
  for (const table of tables) {
    const path = tableFile(table)
    const found = await readOr(
      dir,
      path,
      countRows ? tableFacts(join(dir, path), options) : factsOf(join(dir, path), options.signal, options.onBytes),
    )
    requireSame(dir, path, table, found)
    if ('rows' in found && found.rows !== table.rows)
      throw new DumpRefused(`${dir} is damaged: ${table.name} has ${found.rows} rows instead of ${table.rows}`)
  }
  for (const file of files) {
    const path = `exports/${file.path}`
    requireSame(dir, path, file, await readOr(dir, path, factsOf(join(dir, path), options.signal, options.onBytes)))
  }
}

function requireSame(dir: string, path: string, written: FileFacts, found: FileFacts): void {
  if (found.sha256 !== written.sha256) throw new DumpRefused(`${dir} is damaged: ${path} is not as it was written`)
}

const readOr = <T>(dir: string, path: string, facts: Promise<T>): Promise<T> =>
  facts.catch(error => {
    if (errno(error) === 'ENOENT') throw new DumpRefused(`${dir} is damaged: ${path} is missing`)
    // What is cut short or overwritten is no gzip file any more.
    if (/^Z_/.test(String(errno(error)))) throw new DumpRefused(`${dir} is damaged: ${path} is not as it was written`)
    throw error
  })

/** In the text of COPY a row is a line: a line break in a value is written as \n. */
async function tableFacts(path: string, { signal, onBytes }: VerifyOptions): Promise<FileFacts & { rows: number }> {
  const hash = createHash('sha256')
  const facts = { bytes: 0, rows: 0 }
  await pipeline(
    createReadStream(path, { highWaterMark: CHUNK_BYTES }),
    async function* (zipped: AsyncIterable<Buffer>) {
      for await (const chunk of zipped) {
        hash.update(chunk)
        facts.bytes += chunk.length
        onBytes?.(chunk.length)
        yield chunk
      }
    },
    createGunzip({ chunkSize: CHUNK_BYTES }),
    async (text: AsyncIterable<Buffer>) => {
      for await (const chunk of text) for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) facts.rows++
    },
    { signal },
  )
  return { ...facts, sha256: hash.digest('hex') }
}

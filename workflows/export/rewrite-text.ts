import { createHash, type Hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import type { Environment } from '../../domain/kernel/environment.ts'
import type { Pseudonyms } from '../../domain/projects/secrets.ts'
import type { Part } from '../../domain/reporting/exports/export.ts'
import type { NewFile, StoredFile } from '../../domain/reporting/exports/rewrite.ts'
import type { Pool } from '../../store/connect.ts'
import type { FileStorage } from '../../store/files/storage.ts'
import { type Count, type Filter, keptRows, userOfRow } from './kept-rows.ts'

const CHUNK_BYTES = 256 * 1024

async function* hashed(source: AsyncIterable<Buffer>, hash: Hash, signal: AbortSignal): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    signal.throwIfAborted()
    hash.update(chunk)
    yield chunk
  }
}

/** The part's text. `hash` gets the bytes as they are stored. */
async function content({ storage, file, stored, signal }: FileToRewrite, part: Part, hash: Hash): Promise<AsyncIterable<Buffer>> {
  const bytes = hashed(await storage.read(file, [part]), hash, signal)
  if (stored.compression === 'none') return bytes
  const text = createGunzip({ chunkSize: CHUNK_BYTES })
  text.on('error', () => {})
  // The reader of the text gets its error; a reader that stops ends the pipeline, too.
  pipeline(bytes, text).catch(() => {})
  return text
}

/** Reads the whole part and counts its rows; `hash` then includes the unchanged part. */
async function look(options: FileToRewrite, part: Part, filter: Filter, hash: Hash): Promise<Count> {
  const count: Count = { kept: 0, erased: 0, isChanged: false }
  for await (const _ of keptRows(await content(options, part, hash), filter, count));
  if (count.kept + count.erased !== part.rows)
    throw Object.assign(new Error(`part ${part.name} has ${count.kept + count.erased} rows, not ${part.rows}`), { code: 'EIO' })
  return count
}

async function write(options: FileToRewrite, part: Part, filter: Filter, name: string, hash: Hash): Promise<Part> {
  const { storage, file, stored, signal } = options
  const count: Count = { kept: 0, erased: 0, isChanged: false }
  const rows = keptRows(await content(options, part, createHash('sha256')), filter, count)
  const zipped = stored.compression === 'gzip' ? createGzip({ level: 6 }) : undefined
  zipped?.on('error', () => {})
  const plain = Readable.from(rows, { objectMode: false, highWaterMark: CHUNK_BYTES })
  plain.on('error', () => {})
  const zipping = zipped ? pipeline(plain, zipped, { signal }) : undefined
  const [{ bytes }] = await Promise.all([storage.writePart(file, name, hashed(zipped ?? plain, hash, signal), signal), zipping])
  return { name, rows: count.kept, bytes }
}

/**
 * Rewrites part by part. A part without erased rows stays as it is and is read once. Null when no part has erased rows. Never more than a
 * piece of one part is in memory.
 */
export async function rewriteText(options: FileToRewrite): Promise<NewFile | null> {
  const { stored, name, secrets } = options
  const erased = new Set(stored.to_erase)
  const userOf = userOfRow(stored.format, stored.type, stored.formula_guard)
  const isErased = (row: Buffer) => {
    const user = userOf(row)
    return user !== null && erased.has(secrets.pseudonym(user))
  }
  let hash = createHash('sha256')
  const parts: Part[] = []
  let isContinued = false
  for (const [i, old] of stored.parts.entries()) {
    const filter: Filter = { format: stored.format, isFirst: i === 0, isContinued, isErased }
    const before = hash.copy()
    const { kept, isChanged } = await look(options, old, filter, hash)
    if (isChanged) hash = before
    const part = isChanged ? await write(options, old, filter, name(i + 1), hash) : old
    parts.push(part)
    isContinued ||= kept > 0
  }
  if (parts.every((part, i) => part === stored.parts[i])) return null
  return { parts, bytes: parts.reduce((sum, part) => sum + part.bytes, 0), sha256: hash.digest('hex') }
}
export type FileToRewrite = {
  storage: FileStorage
  secrets: Pseudonyms
  file: string
  stored: StoredFile
  /** The name of the new part number n. */
  name: (n: number) => string
  signal: AbortSignal
}
export type RewriteOptions = {
  pool: Pool
  storage: FileStorage
  secrets: Pseudonyms
  environment: Environment
  file: string
  /** Begins with the run's number; different at every attempt. */
  mark: string
  signal: AbortSignal
}

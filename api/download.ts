import type Koa from 'koa'
import parseRange from 'range-parser'
import type { Secrets } from '../domain/projects/secrets.ts'
import { type ExportRow, findDownload, isSignatureOf } from '../domain/reporting/exports/export.ts'
import type { Pool } from '../store/connect.ts'
import type { FileStorage } from '../store/files/storage.ts'
import { takingTurns } from '../store/taking-turns.ts'
import { Problem } from './errors.ts'

const TYPES = {
  csv: 'text/csv; charset=utf-8',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
  // Of charts: a page that is only ever a file, never shown from this address.
  html: 'text/html; charset=utf-8',
} as const
const ADDRESS = /^\/files\/exports\/([A-Za-z0-9_-]{32})$/

const compact = (time: string) => time.replaceAll(/[-:]/g, '')

function fileName({ type, format, compression, from_timestamp, to_timestamp }: ExportRow): string {
  return `${type}-${compact(from_timestamp)}-${compact(to_timestamp)}.${format}${compression === 'gzip' ? '.gz' : ''}`
}

type DownloadDeps = { pool: Pool; secrets: Secrets; storage: FileStorage }
type FindFile = (id: string) => Promise<ExportRow | null>

/** Concurrent lookups: everybody may request a file, and the other connections are for requests with a key. */
const LOOKUPS = 2

/** An erasure replaces a file once. Several concurrent erasures may each replace it. */
const TRIES = 5

/**
 * Sends one file: the parts that one row of the database names. A wrong signature, an unknown file and an expired file all give 404. An
 * erasure may replace the file by one without an erased user's rows. Before the first byte, the new file is sent. Later, the connection breaks off,
 * and a client that continues with `If-Range` gets the whole new file.
 */
export function downloads(deps: DownloadDeps): (ctx: Koa.Context) => Promise<void> {
  const inTurn = takingTurns(LOOKUPS)
  const find: FindFile = id => inTurn(0, () => findDownload(deps.pool, id))
  return async ctx => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await sendFile(ctx, deps, find)
      } catch (error) {
        if (attempt === TRIES || (error as { code?: unknown }).code !== 'ENOENT') throw error
      }
    }
  }
}

async function sendFile(ctx: Koa.Context, deps: DownloadDeps, find: FindFile): Promise<void> {
  const id = ADDRESS.exec(ctx.path)?.[1]
  const file = id === undefined ? null : await find(id)
  const given = new URLSearchParams(ctx.querystring).get('signature') ?? ''
  if (!file?.parts || file.bytes === null || !isSignatureOf(deps.secrets, file, given)) throw new Problem('not_found', 'file not found')
  const etag = `"${file.sha256}"`
  const isKnown = ctx.get('If-None-Match') === etag
  const range = isKnown ? undefined : rangeOf(ctx, file.bytes, etag)
  if (range === 'unsatisfiable') {
    throw new Problem('invalid_request', 'the range lies outside the file', {
      status: 416,
      headers: { 'Content-Range': `bytes */${file.bytes}` },
    })
  }
  const isWanted = !isKnown && ctx.method !== 'HEAD'
  const body = isWanted ? await deps.storage.read(file.id, file.parts, range) : undefined
  ctx.set({
    ETag: etag,
    'Accept-Ranges': 'bytes',
    // Neither a proxy nor a browser keeps the rows of customers.
    'Cache-Control': 'private, no-store',
    'Content-Disposition': `attachment; filename="${fileName(file)}"`,
    'X-Content-Type-Options': 'nosniff',
  })
  if (isKnown) {
    ctx.status = 304
    return
  }
  ctx.status = range ? 206 : 200
  if (range) ctx.set('Content-Range', `bytes ${range.start}-${range.end}/${file.bytes}`)
  // `ctx.type` would add a charset, which the type of JSON does not have.
  ctx.set('Content-Type', file.compression === 'gzip' ? 'application/gzip' : TYPES[file.format])
  if (body) ctx.body = body
  ctx.length = range ? range.end - range.start + 1 : file.bytes
}

/** One range only. A request for several ranges, or for a range of another version of the file, gets the whole file. */
function rangeOf(ctx: Koa.Context, bytes: number, etag: string): { start: number; end: number } | undefined | 'unsatisfiable' {
  const header = ctx.get('Range')
  const condition = ctx.get('If-Range')
  if (header === '' || (condition !== '' && condition !== etag)) return undefined
  const ranges = parseRange(bytes, header)
  if (ranges === -1) return 'unsatisfiable'
  if (ranges === -2 || ranges.type !== 'bytes' || ranges.length !== 1) return undefined
  return ranges[0]
}

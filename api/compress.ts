import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type Koa from 'koa'
import type { Layer } from './context.ts'

export type Encoding = 'br' | 'gzip'

/** A smaller answer fits into one packet anyway. */
const LEAST_BYTES = 1_024

// On a thread of the pool: the event loop is for other requests meanwhile.
const [brotli, zip] = [promisify(brotliCompress), promisify(gzip)]

/** What the client accepts, the smaller form first; null: neither. The answer depends on the header, and says so. */
export function encodingFor(ctx: Koa.ParameterizedContext): Encoding | null {
  ctx.vary('Accept-Encoding')
  if (ctx.req.headers['accept-encoding'] === undefined) return null
  for (const encoding of ['br', 'gzip'] as const) if (ctx.acceptsEncodings(encoding, 'identity') === encoding) return encoding
  return null
}

/** `isKept`: for an answer that is compressed once and sent often; it is made as small as possible within a tenth of a second for a megabyte. */
export function compress(encoding: Encoding, content: Buffer, { isKept = false } = {}): Promise<Buffer> {
  if (encoding === 'gzip') return zip(content, { level: isKept ? 9 : 6 })
  const { BROTLI_PARAM_QUALITY: quality, BROTLI_PARAM_SIZE_HINT: hint } = constants
  return brotli(content, { params: { [quality]: isKept ? 9 : 4, [hint]: content.length } })
}

/**
 * Compresses the answers that say so: the lists of v4, which are asked for with a key in a header. Where a browser sends what signs in by itself
 * (the console's cookie), a page of somebody else could cause requests with texts of its choice and learn from their sizes what stands beside the
 * texts; and a list with secrets could tell them in the same way to somebody who writes into it. These stay as they are, as do streams and files.
 */
export const compressed: Layer = async (ctx, next) => {
  await next()
  const { body, state } = ctx
  if (!state.isCompressible || typeof body !== 'string') return
  const encoding = encodingFor(ctx)
  const content = Buffer.from(body)
  if (encoding === null || content.length < LEAST_BYTES) return
  ctx.body = await compress(encoding, content)
  ctx.set('Content-Encoding', encoding)
}

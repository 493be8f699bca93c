import type { Readable } from 'node:stream'

const EXCERPT_CHARACTERS = 1024
const DAY_SECONDS = 86_400

/** The part of a body that was read. `isCut`: the body has `limit` bytes or more, and the bytes after them are unknown. */
export type ReadBody = { text: string; isCut: boolean }

/** Reads the first `limit` bytes of a body as text. A longer body is not read to its end and its connection is closed, because a body may have no end. */
export async function readResponseBody(body: Readable, limit: number): Promise<ReadBody> {
  const chunks: Uint8Array[] = []
  let length = 0
  // To leave the loop destroys the stream and, with it, the connection.
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= limit) break
  }
  return { text: new TextDecoder().decode(Buffer.concat(chunks).subarray(0, limit)), isCut: length >= limit }
}

/**
 * The part of a response that is stored: its first 1,024 characters. NUL is removed, because Postgres takes it in no text; half of a
 * surrogate pair at the cut is replaced, because Postgres takes it in no JSON.
 */
export const excerpt = (text: string): string => text.replaceAll('\0', '').slice(0, EXCERPT_CHARACTERS).toWellFormed()

type Header = string | string[] | null | undefined

const firstOf = (header: Header): string => (Array.isArray(header) ? header[0] : header)?.trim() ?? ''
const within = (seconds: number) => (Number.isNaN(seconds) ? null : Math.min(DAY_SECONDS, Math.max(1, Math.ceil(seconds))))

/** Seconds of a `Retry-After` header (whole seconds or an HTTP date), limited to 1 s..24 h; null without a readable one. */
export function retryAfterSeconds(header: Header, now = Date.now()): number | null {
  const text = firstOf(header)
  return within(/^\d+$/.test(text) ? Number(text) : (httpDate(text) - now) / 1000)
}

/** A number below this is no time in Unix milliseconds: such times have had 12 digits since 1973. */
const LEAST_UNIX_MS = 1e11

/** The same for a sender whose header is a time in Unix milliseconds (Apple). A number that is too small for such a time counts as seconds. */
export function retryAtSeconds(header: Header, now = Date.now()): number | null {
  const time = Number(firstOf(header).match(/^\d+$/)?.[0] ?? Number.NaN)
  return time >= LEAST_UNIX_MS ? within((time - now) / 1000) : retryAfterSeconds(header, now)
}

/** All three date forms of RFC 9110 are UTC; the oldest (`Sun Nov  6 08:49:37 1994`) does not say so. */
function httpDate(text: string): number {
  if (!/^(mon|tue|wed|thu|fri|sat|sun)/i.test(text)) return Number.NaN
  return Date.parse(/ (gmt|utc)$/i.test(text) ? text : `${text} GMT`)
}

const UNREADABLE = /^(HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_|ERR_HTTP2)/
const TLS = /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|HOSTNAME_MISMATCH)/
/** Deno's TLS errors have no code: the message names the failure. */
const TLS_MESSAGE = /certificate|handshake|InvalidContentType|corrupt message|\btls\b/i

/** The `error` code of an attempt without a response (see `OutgoingResponse`). `request_invalid`: a header or an address that cannot be sent. */
export function networkErrorCode(error: unknown): string {
  const { code = '', name = '', message = '' } = error as { code?: string; name?: string; message?: string }
  if (code === 'address_refused') return code
  if (code === 'UND_ERR_INVALID_ARG') return 'request_invalid'
  if (/TIMEOUT/i.test(code) || code === 'ETIMEDOUT' || name === 'TimeoutError') return 'timeout'
  if (name === 'HTTPParserError' || UNREADABLE.test(code)) return 'answer_unreadable'
  if (TLS.test(code) || TLS_MESSAGE.test(message)) return 'tls_failed'
  return 'connection_failed'
}

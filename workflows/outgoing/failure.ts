import { errors } from 'undici'

const UNREADABLE = /^(HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_|ERR_HTTP2)/
const TLS = /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|HOSTNAME_MISMATCH)/
/** Deno's TLS names its failures in the message only. */
const TLS_MESSAGE = /certificate|handshake|InvalidContentType|corrupt message|\btls\b/i

/** The word for why no answer came (see `Answer`). `request_invalid`: a header or an address that cannot be sent as it is. */
export function failureOf(error: unknown): string {
  const { code = '', name = '', message = '' } = error as { code?: string; name?: string; message?: string }
  if (code === 'address_refused') return code
  if (error instanceof errors.InvalidArgumentError) return 'request_invalid'
  if (/TIMEOUT/i.test(code) || code === 'ETIMEDOUT' || name === 'TimeoutError') return 'timeout'
  if (error instanceof errors.HTTPParserError || UNREADABLE.test(code)) return 'answer_unreadable'
  if (TLS.test(code) || TLS_MESSAGE.test(message)) return 'tls_failed'
  return 'connection_failed'
}

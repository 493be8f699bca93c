import { createHmac, timingSafeEqual } from 'node:crypto'

/** The largest difference between the time of a signature and our time, in both directions. */
const TOLERANCE_MS = 300_000

/** `h1`: one for each secret that Paddle signs with; there are two while a secret is being replaced. */
type SignatureHeader = { ts: string; h1: Buffer[] }

/** Reads `ts=…;h1=…[;h1=…]`; null: the header has another form. */
function signatureHeader(header: string | undefined): SignatureHeader | null {
  const parts = (header ?? '').split(';').map(part => part.trim().split('='))
  const valuesOf = (key: string) =>
    parts.flatMap(([name, value, ...rest]) => (name === key && value !== undefined && rest.length === 0 ? [value] : []))
  const [ts, ...more] = valuesOf('ts')
  const h1 = valuesOf('h1')
  if (ts === undefined || more.length > 0 || !/^\d{1,12}$/.test(ts) || h1.length === 0) return null
  return { ts, h1: h1.filter(value => /^[\da-f]{64}$/i.test(value)).map(value => Buffer.from(value, 'hex')) }
}

/**
 * Whether Paddle has signed the raw body with the secret, at a time near `nowMs`. The SDK is not used: it tolerates 5 s, compares in variable
 * time, and knows one `h1`.
 */
export function isSignedByPaddle(header: string | undefined, body: Uint8Array, secret: string, nowMs: number): boolean {
  const read = signatureHeader(header)
  if (!read || Math.abs(Number(read.ts) * 1000 - nowMs) > TOLERANCE_MS) return false
  const expected = createHmac('sha256', secret).update(`${read.ts}:`).update(body).digest()
  return read.h1.filter(h1 => timingSafeEqual(h1, expected)).length > 0
}

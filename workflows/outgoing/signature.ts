import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

const PREFIX = 'whsec_'

/** Keys that were used last: to make one takes five times as long as to sign with it. */
const KEPT = 1_000
const keys = new Map<string, KeyObject>()

function keyOf(secret: string): KeyObject {
  const known = keys.get(secret)
  if (known) {
    keys.delete(secret)
    keys.set(secret, known)
    return known
  }
  const key = createSecretKey(Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, 'base64'))
  for (const oldest of keys.keys()) {
    if (keys.size < KEPT) break
    keys.delete(oldest)
  }
  keys.set(secret, key)
  return key
}

/** Standard Webhooks: `v1,` and the HMAC-SHA256 of id, time and body; the key is the secret decoded from base64. */
const sign = (secret: string, signed: string): string => `v1,${createHmac('sha256', keyOf(secret)).update(signed).digest('base64')}`

export type Signed = {
  /** The same at every attempt and replay, so that receivers can drop repeats. */
  id: string
  body: string
  /** `whsec_…`, the current secret first; after a change the former one follows while it is still valid. */
  secrets: readonly string[]
  /** Sent as configured, without encoding. */
  authorizationToken: string | null
  /** Real time of this attempt. */
  at: Date
}

/** The headers of an outgoing webhook. Each attempt makes new ones, because receivers refuse an old time. */
export function webhookHeaders({ id, body, secrets, authorizationToken, at }: Signed): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  return {
    ...(authorizationToken && { authorization: `Basic ${authorizationToken}` }),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    ...(secrets.length > 0 && { 'webhook-signature': secrets.map(secret => sign(secret, `${id}.${timestamp}.${body}`)).join(' ') }),
    'content-type': 'application/json',
    accept: 'application/json',
    'user-agent': 'Perennial-Webhooks/1',
  }
}

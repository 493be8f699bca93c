import { createHmac } from 'node:crypto'

const PREFIX = 'whsec_'

/** Standard Webhooks: `v1,` and the HMAC-SHA256 of id, time and body under the bytes that the secret is base64 of. */
function sign(secret: string, signed: string): string {
  const key = Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, 'base64')
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
}

export type Signed = {
  /** The same at every attempt and replay, so that receivers can drop repeats. */
  id: string
  body: string
  /** `whsec_…`, the present one first; a second one while it is still good after a change. */
  secrets: readonly string[]
  /** Goes out as configured, not encoded. */
  authorizationToken: string | null
  /** Real time of this attempt. */
  at: Date
}

/** The headers of an outgoing webhook. Made afresh at every attempt: receivers refuse an old time. */
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

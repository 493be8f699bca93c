import { createHmac, randomUUID, sign } from 'node:crypto'
import type { AppleChain } from './apple-chain.ts'

export type Json = Record<string, unknown>
export const BUNDLE = 'com.example.app'
export const APP_ID = 1234567890

const part = (value: Json) => Buffer.from(JSON.stringify(value)).toString('base64url')
const x5cOf = ({ leaf, intermediate, root }: AppleChain) => [leaf, intermediate, root].map(certificate => certificate.toString('base64'))

/** A JWS as Apple signs: ES256 with its chain in the header. `header` changes the header. */
export function appleJws(chain: AppleChain, payload: Json, header: Json = {}): string {
  const unsigned = `${part({ alg: 'ES256', x5c: x5cOf(chain), ...header })}.${part(payload)}`
  const signature = sign('sha256', Buffer.from(unsigned), { key: chain.leafKeys.privateKey, dsaEncoding: 'ieee-p1363' })
  return `${unsigned}.${signature.toString('base64url')}`
}

/** Without a signature, as a forger sends who hopes that `alg` is believed. */
export const unsignedJws = (chain: AppleChain, payload: Json): string => `${part({ alg: 'none', x5c: x5cOf(chain) })}.${part(payload)}.`

/** Signed with HMAC, whose key is the public key of the leaf. */
export function hmacJws(chain: AppleChain, payload: Json): string {
  const unsigned = `${part({ alg: 'HS256', x5c: x5cOf(chain) })}.${part(payload)}`
  const pem = chain.leafKeys.publicKey.export({ type: 'spki', format: 'pem' })
  return `${unsigned}.${createHmac('sha256', pem).update(unsigned).digest('base64url')}`
}

/** The same JWS with another payload under the old signature. */
export function withPayload(jws: string, payload: Json): string {
  const [header, , signature] = jws.split('.')
  return `${header}.${part(payload)}.${signature}`
}

export type AppleEnvironmentWord = 'Production' | 'Sandbox' | 'Xcode' | 'LocalTesting'

/** A notification: what Apple posts, and what is recorded of it. */
export type AppleNotification = { id: string; type: string; subtype: string | null; statedAt: number; body: Uint8Array }

export type NotificationContent = {
  type: string
  subtype?: string | null
  at: number
  /** Signed transaction and renewal info. */
  data?: { signedTransactionInfo?: string; signedRenewalInfo?: string }
  environment?: AppleEnvironmentWord
  bundleId?: string
  appAppleId?: number | null
  /** In the place of `data`. */
  other?: Json
}

export const bodyOf = (signedPayload: string): Uint8Array => Buffer.from(JSON.stringify({ signedPayload }))

/** The payload of an outer JWS. */
export function notificationPayload(id: string, content: NotificationContent): Json {
  const { type, subtype, at, data, environment = 'Production', bundleId = BUNDLE, appAppleId = APP_ID, other } = content
  const app = { bundleId, environment, ...(appAppleId !== null && { appAppleId }) }
  return {
    notificationType: type,
    ...(subtype && { subtype }),
    notificationUUID: id,
    version: '2.0',
    signedDate: at,
    ...(other ?? { data: { ...app, bundleVersion: '1', ...data } }),
  }
}

export function appleNotification(chain: AppleChain, content: NotificationContent): AppleNotification {
  const id = randomUUID()
  const body = bodyOf(appleJws(chain, notificationPayload(id, content)))
  return { id, type: content.type, subtype: content.subtype ?? null, statedAt: content.at, body }
}

/** The JWS of a notification's body. */
export const signedPayloadOf = (body: Uint8Array): string => JSON.parse(Buffer.from(body).toString()).signedPayload

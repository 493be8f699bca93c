import { Environment } from '@apple/app-store-server-library'
import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'

/** A signed payload lacks a required field. The message names fields, never values. */
export class UnreadableContent extends Error {}

type Json = Record<string, unknown>

function object(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null
  } catch {
    return null
  }
}

/** The JWS of a notification's body; null: the body is no notification of Apple's. */
export function signedPayloadIn(body: Uint8Array): string | null {
  const payload = object(Buffer.from(body).toString())?.signedPayload
  return typeof payload === 'string' ? payload : null
}

/** The body of a notification from Apple's history, as Apple had sent it. */
export const notificationBody = (signedPayload: string): Uint8Array => Buffer.from(JSON.stringify({ signedPayload }))

/** The payload of a JWS, not verified; null: the text is no JWS. */
export function unverified(jws: unknown): Json | null {
  if (typeof jws !== 'string') return null
  const parts = jws.split('.')
  return parts.length === 3 ? object(Buffer.from(parts[1]!, 'base64url').toString()) : null
}

/**
 * The environment whose verifier is right for a notification or a transaction, not verified. `xcode` and `local_testing` sign with keys of
 * the developer's machine.
 */
export type StatedEnvironment = EnvironmentKind | 'xcode' | 'local_testing'

const SANDBOX_TOKEN = 'SANDBOX'

/** Production, where no environment is stated: its verifier refuses other payloads. */
export function statedEnvironment(payload: Json): StatedEnvironment {
  const part = (payload.data ?? payload.summary ?? payload.appData ?? payload) as Json
  switch (part.environment) {
    case Environment.SANDBOX:
      return 'sandbox'
    case Environment.XCODE:
      return 'xcode'
    case Environment.LOCAL_TESTING:
      return 'local_testing'
  }
  const token = (payload.externalPurchaseToken as Json | undefined)?.externalPurchaseId
  return typeof token === 'string' && token.startsWith(SANDBOX_TOKEN) ? 'sandbox' : 'production'
}

/** The lineage of a notification: Apple's original transaction, which only the inner JWS names. */
export function lineageIn(payload: { data?: unknown }): string | null {
  const { signedTransactionInfo, signedRenewalInfo } = (payload.data ?? {}) as Json
  const id = unverified(signedTransactionInfo)?.originalTransactionId ?? unverified(signedRenewalInfo)?.originalTransactionId
  return typeof id === 'string' && id !== '' ? id : null
}

import { Environment } from '@apple/app-store-server-library'
import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'

/** Apple's signed word lacks what is needed. The message names fields, never values. */
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

/** The JWS of a notification's body; null when the body is none of Apple's notifications. */
export function signedPayloadIn(body: Uint8Array): string | null {
  const payload = object(Buffer.from(body).toString())?.signedPayload
  return typeof payload === 'string' ? payload : null
}

/** The body of a notification that Apple's history tells: as Apple had sent it. */
export const notificationBody = (signedPayload: string): Uint8Array => Buffer.from(JSON.stringify({ signedPayload }))

/** What a JWS says, not verified; null when it is none. */
export function unverified(jws: unknown): Json | null {
  if (typeof jws !== 'string') return null
  const parts = jws.split('.')
  return parts.length === 3 ? object(Buffer.from(parts[1]!, 'base64url').toString()) : null
}

/** Which verifier is right for a notification or a transaction, not verified. `xcode` and `local_testing` sign with keys of the developer's machine. */
export type StatedEnvironment = EnvironmentKind | 'xcode' | 'local_testing'

const SANDBOX_TOKEN = 'SANDBOX'

/** Production, where nothing is stated: its verifier refuses what does not say so itself. */
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

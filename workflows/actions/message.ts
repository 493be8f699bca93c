import { isFinalStatus } from '../destinations/classify-response.ts'
import type { GoogleTokens } from '../outgoing/google-token.ts'
import type { Outgoing, OutgoingResponse } from '../outgoing/outgoing.ts'

/** A push to one user with its placeholders filled in. `key` is the same at every attempt. */
export type Message = {
  key: string
  user: { id: string; properties: Record<string, string> }
  /** "" = none. */
  title: string
  body: string
  imageUrl: string | null
  deepLink: string | null
  data: Record<string, string>
}

export type PushScope = { outgoing: Outgoing; tokens: GoogleTokens; signal: AbortSignal }

/** The result of one attempt. `rejected`: the provider will never accept the push; `failed`: a repeat may help. */
export type Pushed =
  | { is: 'accepted'; id: string | null }
  | { is: 'no_device' }
  | { is: 'not_configured'; error: string }
  | { is: 'rejected'; error: string }
  | { is: 'failed'; error: string; retryAfterSeconds: number | null }

/** Classifies a response without success; `reason`: the provider's own words. */
export function classifyRefusal(response: OutgoingResponse, reason: string | null): Pushed {
  if (response.is === 'error') return { is: 'failed', error: response.error, retryAfterSeconds: null }
  const { status, retryAfterSeconds } = response
  const error = `http_${status}${reason ? `: ${reason.slice(0, 900)}` : ''}`
  return isFinalStatus(status) ? { is: 'rejected', error } : { is: 'failed', error, retryAfterSeconds }
}

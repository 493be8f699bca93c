import type { GoogleTokens } from '../outgoing/google-token.ts'
import type { Answer, Outgoing } from '../outgoing/request.ts'

/** A push to one user, placeholders filled in. `key` is the same at every attempt. */
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

/** What became of it. `rejected`: the provider will never take it; `failed`: a repeat may help. */
export type Pushed =
  | { is: 'taken'; id: string | null }
  | { is: 'no_device' }
  | { is: 'not_configured'; error: string }
  | { is: 'rejected'; error: string }
  | { is: 'failed'; error: string; retryAfterSeconds: number | null }

/** A key that is wrong or a limit that is reached will be mended. */
const MENDED_LATER = [401, 403, 408, 429]

/** What an answer that brought no success comes to; `said`: what the provider gave as the reason. */
export function refusalBy(answer: Answer, said: string | null): Pushed {
  if (answer.is === 'error') return { is: 'failed', error: answer.error, retryAfterSeconds: null }
  const { status, retryAfterSeconds } = answer
  const error = `http_${status}${said ? `: ${said.slice(0, 900)}` : ''}`
  if (status >= 400 && status < 500 && !MENDED_LATER.includes(status)) return { is: 'rejected', error }
  return { is: 'failed', error, retryAfterSeconds }
}

import { createHash, createPrivateKey, createSign, type KeyObject } from 'node:crypto'
import type { Outgoing, OutgoingRequest, OutgoingResponse } from './outgoing.ts'

const GOOGLE_TOKEN_URI = 'https://oauth2.googleapis.com/token'
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const ASSERTION_SECONDS = 3600
/** A token is not used in its last minute, because its request takes time, too. */
const MARGIN_MS = 60_000
/** Tokens in the cache, one for each key and scope; the oldest one is removed. */
const MOST_CACHED = 1000

export type ServiceAccount = {
  email: string
  projectId: string | null
  keyId: string | null
  key: KeyObject
  tokenUri: string
  fingerprint: string
}

/** A service account in Google's JSON format; null when it cannot be used. */
export function serviceAccount(json: unknown): ServiceAccount | null {
  try {
    const { client_email: email, private_key, private_key_id, project_id, token_uri } = JSON.parse(String(json))
    if (typeof email !== 'string' || typeof private_key !== 'string') return null
    const key = createPrivateKey(private_key)
    if (key.asymmetricKeyType !== 'rsa') return null
    const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null)
    const fingerprint = createHash('sha256').update(private_key).digest('base64')
    return {
      email,
      projectId: text(project_id),
      keyId: text(private_key_id),
      key,
      tokenUri: text(token_uri) ?? GOOGLE_TOKEN_URI,
      fingerprint,
    }
  } catch {
    return null
  }
}

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

function assertion({ email, keyId, key, tokenUri }: ServiceAccount, scope: string, nowMs: number): string {
  const iat = Math.floor(nowMs / 1000)
  const header = encoded({ alg: 'RS256', typ: 'JWT', ...(keyId && { kid: keyId }) })
  const unsigned = `${header}.${encoded({ iss: email, scope, aud: tokenUri, iat, exp: iat + ASSERTION_SECONDS })}`
  return `${unsigned}.${createSign('RSA-SHA256').update(unsigned).sign(key, 'base64url')}`
}

export type GoogleToken = { is: 'token'; token: string } | { is: 'none'; response: OutgoingResponse }

/** Access tokens of service accounts, requested with a signed assertion and cached until shortly before they expire. */
export type GoogleTokens = {
  /** `none`: Google, or the address in its place, gave no token; `response` says why. */
  tokenFor(account: ServiceAccount, scope: string, signal: AbortSignal): Promise<GoogleToken>
  /** For a refused token: the next `tokenFor` requests a new one. */
  forget(token: string): void
}

function tokenIn(text: string): { token: string; seconds: number } | null {
  try {
    const { access_token: token, expires_in: seconds } = JSON.parse(text)
    return typeof token === 'string' && token !== '' ? { token, seconds: Number(seconds) || 0 } : null
  } catch {
    return null
  }
}

export function googleTokens(outgoing: Outgoing, now: () => number = Date.now): GoogleTokens {
  const cached = new Map<string, { token: string; until: number }>()
  return {
    async tokenFor(account, scope, signal) {
      const name = JSON.stringify([account.email, account.tokenUri, scope, account.fingerprint])
      const known = cached.get(name)
      if (known && known.until > now()) return { is: 'token', token: known.token }
      cached.delete(name)
      const response = await outgoing.request({
        method: 'POST',
        url: account.tokenUri,
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
        body: new URLSearchParams({ grant_type: GRANT, assertion: assertion(account, scope, now()) }).toString(),
        signal,
      })
      const got = response.is === 'response' && response.status === 200 ? tokenIn(response.text) : null
      if (!got) return { is: 'none', response }
      cached.set(name, { token: got.token, until: now() + got.seconds * 1000 - MARGIN_MS })
      if (cached.size > MOST_CACHED) cached.delete(cached.keys().next().value!)
      return { is: 'token', token: got.token }
    },
    forget(token) {
      for (const [name, known] of cached) if (known.token === token) cached.delete(name)
    },
  }
}

export type TokenScope = { outgoing: Outgoing; tokens: GoogleTokens; account: ServiceAccount; scope: string; signal: AbortSignal }

/**
 * Sends a request with an access token, and once more with a new token where Google no longer accepts the first one. Without `hasToken`
 * the request was not sent, and `response` is the response of the token's address.
 */
export async function requestWithToken(
  { outgoing, tokens, account, scope, signal }: TokenScope,
  request: OutgoingRequest,
): Promise<{ hasToken: boolean; response: OutgoingResponse }> {
  for (let isFirst = true; ; isFirst = false) {
    const got = await tokens.tokenFor(account, scope, signal)
    if (got.is === 'none') return { hasToken: false, response: got.response }
    const headers = { ...request.headers, authorization: `Bearer ${got.token}` }
    const response = await outgoing.request({ ...request, headers, signal })
    const isRefused = response.is === 'response' && response.status === 401
    if (isRefused) tokens.forget(got.token)
    if (!isRefused || !isFirst) return { hasToken: true, response }
  }
}

import { createHash, createPrivateKey, createSign, type KeyObject } from 'node:crypto'
import type { Answer, Outgoing } from './request.ts'

const GOOGLE_TOKEN_URI = 'https://oauth2.googleapis.com/token'
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const ASSERTION_SECONDS = 3600
/** A token is not used in its last minute: the request that carries it takes its time, too. */
const MARGIN_MS = 60_000
/** Kept tokens, of as many keys and scopes; the one asked for longest ago goes. */
const KEPT = 1000

export type ServiceAccount = {
  email: string
  projectId: string | null
  keyId: string | null
  key: KeyObject
  tokenUri: string
  fingerprint: string
}

/** A service account as Google hands it out (JSON); null when it cannot be used. */
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

export type GoogleToken = { is: 'token'; token: string } | { is: 'none'; answer: Answer }

/** Access tokens of service accounts, asked for by a signed assertion and kept until shortly before they expire. */
export type GoogleTokens = {
  /** `none`: Google, or who stands for it, gave none; `answer` tells why. */
  tokenFor(account: ServiceAccount, scope: string, signal: AbortSignal): Promise<GoogleToken>
  /** It was refused: the next `tokenFor` asks for a new one. */
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
  const kept = new Map<string, { token: string; until: number }>()
  return {
    async tokenFor(account, scope, signal) {
      const name = JSON.stringify([account.email, account.tokenUri, scope, account.fingerprint])
      const known = kept.get(name)
      if (known && known.until > now()) return { is: 'token', token: known.token }
      kept.delete(name)
      const answer = await outgoing.request({
        method: 'POST',
        url: account.tokenUri,
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
        body: new URLSearchParams({ grant_type: GRANT, assertion: assertion(account, scope, now()) }).toString(),
        signal,
      })
      const got = answer.is === 'answer' && answer.status === 200 ? tokenIn(answer.text) : null
      if (!got) return { is: 'none', answer }
      kept.set(name, { token: got.token, until: now() + got.seconds * 1000 - MARGIN_MS })
      if (kept.size > KEPT) kept.delete(kept.keys().next().value!)
      return { is: 'token', token: got.token }
    },
    forget(token) {
      for (const [name, known] of kept) if (known.token === token) kept.delete(name)
    },
  }
}

import type { ServiceAccount } from '../../outgoing/google-token.ts'
import type { CertificatesFor } from './certificates.ts'

const ISSUERS = ['https://accounts.google.com', 'accounts.google.com']
const SKEW_SECONDS = 300
/** The longest token: Google's tokens have under 2,000 characters. */
const MOST_CHARACTERS = 8192

type Claims = { iat?: unknown; exp?: unknown; email?: unknown; email_verified?: unknown }

/** The e-mail addresses that may push: the configured one, else those of the project of the service account. */
export type Pushers = { only: string } | { account: ServiceAccount }

export type PushTokenVerdict = 'right' | 'wrong' | 'unavailable'

function mayPush(email: unknown, pushers: Pushers): boolean {
  if (typeof email !== 'string') return false
  if ('only' in pushers) return email === pushers.only
  const { email: own, projectId } = pushers.account
  return email === own || (projectId !== null && /^[^@]+@(.+)\.iam\.gserviceaccount\.com$/.exec(email)?.[1] === projectId)
}

function kidOf(token: string): string | null {
  try {
    const { alg, kid } = JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString())
    return alg === 'RS256' && typeof kid === 'string' ? kid : null
  } catch {
    return null
  }
}

/**
 * Verifies the `Authorization` header of a Pub/Sub push. Everybody with a Google Cloud project can get a valid token for our address, so
 * the e-mail address must be checked. The library's errors quote the token, so their messages are dropped.
 */
export async function judgePushToken(
  header: string | undefined,
  address: string,
  pushers: Pushers,
  certificatesFor: (kid: string) => Promise<CertificatesFor>,
  nowMs: () => number,
): Promise<PushTokenVerdict> {
  const token = /^Bearer +([\w.-]+)$/i.exec(header ?? '')?.[1]
  if (token === undefined || token.length > MOST_CHARACTERS) return 'wrong'
  const kid = kidOf(token)
  if (kid === null) return 'wrong'
  const found = await certificatesFor(kid)
  if (found.is === 'none') return 'unavailable'
  const claims = await verified(token, found.certificates, address)
  if (!claims) return 'wrong'
  const now = nowMs() / 1000
  const isInTime = Number(claims.iat) <= now + SKEW_SECONDS && Number(claims.exp) >= now - SKEW_SECONDS
  return isInTime && claims.email_verified === true && mayPush(claims.email, pushers) ? 'right' : 'wrong'
}

async function verified(token: string, certificates: Readonly<Record<string, string>>, address: string): Promise<Claims | null> {
  // Loaded with the first push: installations without Google Play do without it.
  const { OAuth2Client } = await import('google-auth-library')
  try {
    const ticket = await new OAuth2Client().verifySignedJwtWithCertsAsync(token, certificates, address, ISSUERS)
    return (ticket.getPayload() as Claims | undefined) ?? null
  } catch {
    return null
  }
}

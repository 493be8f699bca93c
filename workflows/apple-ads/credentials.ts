import { createPrivateKey, sign } from 'node:crypto'

/** What Apple gave for reading and changing campaigns. `orgId`: only this organisation; null: all that the credentials open. */
export type AppleAdsCredentials = {
  clientId: string
  teamId: string
  keyId: string
  privateKey: string
  orgId: string | null
  /** In place of Apple's own addresses. */
  baseUrl: string | null
}

/** The credentials in the opened settings of an integration; null: some are missing. */
export function credentialsOf(settings: Record<string, unknown>): AppleAdsCredentials | null {
  const text = (name: string) => (typeof settings[name] === 'string' && settings[name] !== '' ? (settings[name] as string) : null)
  const [clientId, teamId, keyId, privateKey] = [text('client_id'), text('team_id'), text('key_id'), text('private_key')]
  if (clientId === null || teamId === null || keyId === null || privateKey === null) return null
  return { clientId, teamId, keyId, privateKey, orgId: text('org_id'), baseUrl: text('base_url')?.replace(/\/+$/, '') ?? null }
}

/** Apple names this audience, wherever the request goes. */
const AUDIENCE = 'https://appleid.apple.com'
const SECRET_SECONDS = 3600

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The signed token in place of a client secret; null: the private key is no P-256 key in PEM. */
export function clientSecret({ clientId, teamId, keyId, privateKey }: AppleAdsCredentials, nowMs: number): string | null {
  try {
    const key = createPrivateKey(privateKey)
    if (key.asymmetricKeyType !== 'ec' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return null
    const iat = Math.floor(nowMs / 1000)
    const claims = encoded({ sub: clientId, aud: AUDIENCE, iat, exp: iat + SECRET_SECONDS, iss: teamId })
    const unsigned = `${encoded({ alg: 'ES256', kid: keyId, typ: 'JWT' })}.${claims}`
    return `${unsigned}.${sign('sha256', Buffer.from(unsigned), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
  } catch {
    return null
  }
}

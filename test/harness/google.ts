import { createVerify, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { VendorReply, VendorRequest } from './vendor.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** A service account with a new key, in Google's format. `tokenUri`: the endpoint that issues its tokens. */
export function googleAccount(tokenUri: () => string) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return {
    publicKey,
    json: () =>
      JSON.stringify({
        type: 'service_account',
        project_id: 'shop-1',
        private_key_id: 'key-1',
        private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
        client_email: 'perennial@shop-1.iam.gserviceaccount.com',
        token_uri: tokenUri(),
      }),
  }
}

const decoded = (part: string | undefined) => JSON.parse(Buffer.from(part ?? '', 'base64url').toString())

/** Why Google rejects an assertion (RFC 7523); null when the assertion is valid. */
function faultOf(assertion: string, publicKey: KeyObject, tokenUri: string, scope: string): string | null {
  const [header, claims, signature] = assertion.split('.')
  const { alg, typ, kid } = decoded(header)
  if (alg !== 'RS256' || typ !== 'JWT' || kid !== 'key-1') return 'header'
  const verified = createVerify('RSA-SHA256').update(`${header}.${claims}`).verify(publicKey, signature!, 'base64url')
  if (!verified) return 'signature'
  const { iss, aud, iat, exp, scope: requested } = decoded(claims)
  const now = Date.now() / 1000
  if (iss !== 'perennial@shop-1.iam.gserviceaccount.com' || aud !== tokenUri || requested !== scope) return 'claims'
  return iat <= now + 5 && exp > now && exp - iat <= 3600 ? null : 'times'
}

/** Google's token endpoint: issues tokens t1, t2 …, valid until they are revoked. */
export function googleTokenEndpoint(publicKey: KeyObject, tokenUri: () => string, scope: string) {
  let given = 0
  const valid = new Set<string>()
  return {
    valid,
    given: () => given,
    revoke: () => valid.clear(),
    answer({ method, headers, body }: VendorRequest): VendorReply {
      const form = new URLSearchParams(body.toString())
      if (method !== 'POST' || headers['content-type'] !== 'application/x-www-form-urlencoded' || form.get('grant_type') !== GRANT)
        return { status: 400, body: { error: 'unsupported_grant_type' } }
      const fault = faultOf(form.get('assertion') ?? '', publicKey, tokenUri(), scope)
      if (fault) return { status: 400, body: { error: 'invalid_grant', error_description: fault } }
      const token = `t${++given}`
      valid.add(token)
      return { status: 200, body: { access_token: token, expires_in: 3599, token_type: 'Bearer' } }
    },
    isKnown: ({ headers }: VendorRequest) => valid.has((headers.authorization ?? '').replace(/^Bearer /, '')),
  }
}

export const GOOGLE_UNAUTHENTICATED: VendorReply = {
  status: 401,
  body: { error: { code: 401, message: 'Request had invalid authentication credentials.', status: 'UNAUTHENTICATED' } },
}

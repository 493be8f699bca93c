import type { GivenKey, GivenSignature } from './given.ts'
import type { Site } from './site.ts'

/** ES256, EdDSA and RS256, as COSE numbers them: every device has one of them. */
export const ALGORITHMS = [-7, -8, -257]

/** Loaded when the first passkey is used: it takes 0.2 s and 25 MB. */
const library = () => import('@simplewebauthn/server')
const parts = () => import('@simplewebauthn/server/helpers')

type Expected = { challenge: string; site: Site }

const expectedOf = ({ challenge, site }: Expected) => ({
  expectedChallenge: challenge,
  expectedOrigin: site.origin,
  expectedRPID: site.id,
  requireUserVerification: true,
})

/**
 * The counter of a signature that is right: of this key, for this challenge and this site, by somebody whom the device has recognised. Null: it is not.
 * The counter is compared by the caller, who may believe it only now.
 */
export async function verifySignature(
  { id, clientData, authenticatorData, signature }: GivenSignature,
  publicKey: Buffer,
  expected: Expected,
): Promise<number | null> {
  const { verifyAuthenticationResponse } = await library()
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: {
        ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
        response: { clientDataJSON: clientData, authenticatorData, signature },
      },
      credential: { id, publicKey: new Uint8Array(publicKey), counter: 0 },
      ...expectedOf(expected),
    })
    return verified ? authenticationInfo.newCounter : null
  } catch {
    // The library throws for whatever does not match or cannot be read.
    return null
  }
}

export type NewKey = { credentialId: Buffer; publicKey: Buffer; counter: number }

/** A new key of this site, made by somebody whom the device has recognised. Null: it is not. */
export async function verifyKey({ id, clientData, attestation }: GivenKey, expected: Expected): Promise<NewKey | null> {
  const [{ verifyRegistrationResponse }, { decodeAttestationObject, isoBase64URL, isoCBOR }] = await Promise.all([library(), parts()])
  try {
    // What a device says about its maker is left out: nobody has asked, and no certificate of a stranger is read.
    const authData = decodeAttestationObject(isoBase64URL.toBuffer(attestation)).get('authData')
    const bare = new Map<string, string | Uint8Array | Map<string, string>>([
      ['fmt', 'none'],
      ['attStmt', new Map<string, string>()],
      ['authData', authData],
    ])
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: {
        ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
        response: { clientDataJSON: clientData, attestationObject: isoBase64URL.fromBuffer(isoCBOR.encode(bare)) },
      },
      supportedAlgorithmIDs: ALGORITHMS,
      ...expectedOf(expected),
    })
    if (!verified || registrationInfo.credential.id !== id) return null
    const { publicKey, counter } = registrationInfo.credential
    return { credentialId: Buffer.from(id, 'base64url'), publicKey: Buffer.from(publicKey), counter }
  } catch {
    return null
  }
}

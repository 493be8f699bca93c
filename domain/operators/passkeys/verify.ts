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

/** `isSynced`: what the device has said when the key was made. */
type KnownKey = { publicKey: Buffer; isSynced: boolean }

/** `multiDevice`: in the words of the library. */
const isSyncedOf = (deviceType: string): boolean => deviceType === 'multiDevice'

/**
 * The counter of a signature that is right: of this key, for this challenge and this site, by somebody whom the device has recognised. Null: it is not.
 * The counter is compared by the caller, who may believe it only now.
 */
export async function verifySignature(
  { id, clientData, authenticatorData, signature }: GivenSignature,
  { publicKey, isSynced }: KnownKey,
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
    const { credentialDeviceType, newCounter } = authenticationInfo
    return verified && isSyncedOf(credentialDeviceType) === isSynced ? newCounter : null
  } catch {
    // The library throws for whatever does not match or cannot be read.
    return null
  }
}

export type NewKey = KnownKey & { credentialId: Buffer; counter: number }

/** Bytes, of the specification. */
const MOST_OF_CREDENTIAL_ID = 1023
/** Of nothing, in the form of ES256: what matters is that the key can be read. */
const NO_SIGNATURE = Buffer.from('3006020101020101', 'hex')

/** A new key of this site, made by somebody whom the device has recognised. Null: it is not. */
export async function verifyKey({ id, clientData, attestation }: GivenKey, expected: Expected): Promise<NewKey | null> {
  const [{ verifyRegistrationResponse }, { decodeAttestationObject, decodeCredentialPublicKey, isoBase64URL, isoCBOR, isoCrypto }] =
    await Promise.all([library(), parts()])
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
    const { credential, credentialDeviceType } = registrationInfo
    const { publicKey, counter } = credential
    const credentialId = Buffer.from(id, 'base64url')
    if (credentialId.length > MOST_OF_CREDENTIAL_ID) return null
    // Throws for a key that would be refused at each sign-in: a point beside its curve, or an algorithm of another kind of key.
    await isoCrypto.verify({
      cosePublicKey: decodeCredentialPublicKey(publicKey),
      signature: new Uint8Array(NO_SIGNATURE),
      data: new Uint8Array(),
    })
    return { credentialId, publicKey: Buffer.from(publicKey), isSynced: isSyncedOf(credentialDeviceType), counter }
  } catch {
    return null
  }
}

import { createCipheriv, createDecipheriv, createHash, createHmac, createSecretKey, hkdfSync, randomBytes } from 'node:crypto'

/** The uses of APP_SECRET. Each use has a key of its own, derived from APP_SECRET. */
export type Secrets = {
  /** AES-256-GCM: 12 bytes nonce, 16 bytes tag, then the cipher text. `context` names the row and the field: `open` needs the same one. */
  seal(plain: string, context: string): Buffer
  /** Throws when the value was altered, when its `context` differs, or when another APP_SECRET sealed it. */
  open(sealed: Buffer, context: string): string
  /** HMAC-SHA256 in base64url, for signed URLs. */
  sign(text: string): string
  /** HMAC-SHA256 in hexadecimal, in place of an erased id: without APP_SECRET nobody can try ids against it. */
  pseudonym(id: string): string
  /** The keys of `pseudonym` in hexadecimal, for a program that has SHA-256 only: sha256(outer, sha256(inner, id)). */
  pseudonymPads: PseudonymPads
  /** Differs between two APP_SECRETs, and reveals neither. */
  fingerprint: string
}

export type PseudonymPads = { inner: string; outer: string }

/** The part of the secrets that replaces erased ids. */
export type Pseudonyms = Pick<Secrets, 'pseudonym' | 'pseudonymPads'>

/** Block length of SHA-256 in bytes. */
const BLOCK = 64
/** A key of HMAC (RFC 2104) as the two blocks that begin its two hashes. */
const padsOf = (key: Buffer): PseudonymPads => {
  const block = (pad: number) => Buffer.from(Array.from({ length: BLOCK }, (_, i) => (key[i] ?? 0) ^ pad)).toString('hex')
  return { inner: block(0x36), outer: block(0x5c) }
}

export function secretsFrom(appSecret: string): Secrets {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', appSecret, 'perennial', purpose, 32))
  // As keys, and not as bytes: each use of bytes makes a key of them, which takes longer than the use.
  const sealing = createSecretKey(derive('seal'))
  const signing = createSecretKey(derive('sign'))
  const naming = derive('pseudonym')
  const namingKey = createSecretKey(naming)
  return {
    seal(plain, context) {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', sealing, nonce).setAAD(Buffer.from(context))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), body])
    },
    open(sealed, context) {
      const decipher = createDecipheriv('aes-256-gcm', sealing, sealed.subarray(0, 12)).setAAD(Buffer.from(context))
      decipher.setAuthTag(sealed.subarray(12, 28))
      return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()]).toString('utf8')
    },
    sign: text => createHmac('sha256', signing).update(text).digest('base64url'),
    pseudonym: id => createHmac('sha256', namingKey).update(id).digest('hex'),
    pseudonymPads: padsOf(naming),
    fingerprint: derive('fingerprint').toString('hex').slice(0, 16),
  }
}

/** Keys are long and random, so one round of SHA-256 is enough: nobody can compute a key from its stored hash. */
export const hashKey = (key: string): Buffer => createHash('sha256').update(key).digest()

/** Longest secret that a caller may store, in bytes: a private key in PEM or a service account in JSON is far below it. */
export const MAX_SECRET_BYTES = 16 * 1024

/** A sealed value as text (base64), for JSON columns. */
export const sealText = (secrets: Secrets, plain: string, context: string): string => secrets.seal(plain, context).toString('base64')

export const openText = (secrets: Secrets, sealed: string, context: string): string => secrets.open(Buffer.from(sealed, 'base64'), context)

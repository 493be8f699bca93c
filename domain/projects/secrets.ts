import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'

/** What APP_SECRET is good for, each purpose with a key of its own. */
export type Secrets = {
  /** AES-256-GCM: 12 bytes nonce, 16 bytes tag, then the cipher text. `about` binds the value to its place: it opens nowhere else. */
  seal(plain: string, about: string): Buffer
  /** Throws when the value was altered, belongs elsewhere, or APP_SECRET is another one. */
  open(sealed: Buffer, about: string): string
  /** HMAC-SHA256 in base64url, for signed addresses. */
  sign(text: string): string
  /** Tells two APP_SECRETs apart without telling either. */
  fingerprint: string
}

export function secretsFrom(appSecret: string): Secrets {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', appSecret, 'perennial', purpose, 32))
  const sealing = derive('seal')
  const signing = derive('sign')
  return {
    seal(plain, about) {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', sealing, nonce).setAAD(Buffer.from(about))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), body])
    },
    open(sealed, about) {
      const decipher = createDecipheriv('aes-256-gcm', sealing, sealed.subarray(0, 12)).setAAD(Buffer.from(about))
      decipher.setAuthTag(sealed.subarray(12, 28))
      return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()]).toString('utf8')
    },
    sign: text => createHmac('sha256', signing).update(text).digest('base64url'),
    fingerprint: derive('fingerprint').toString('hex').slice(0, 16),
  }
}

/** Keys are random and long, so one round of SHA-256 is enough to make the stored value useless to a thief. */
export const hashKey = (key: string): Buffer => createHash('sha256').update(key).digest()

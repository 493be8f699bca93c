import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto'

/** One value of DER. */
function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const body = Buffer.concat(parts)
  const bytes =
    body.length < 0x80 ? [body.length] : body.length < 0x100 ? [0x81, body.length] : [0x82, body.length >> 8, body.length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...bytes]), body])
}

const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts)
const SHA256_WITH_RSA = sequence(Buffer.from('06092a864886f70d01010b0500', 'hex'))
const utcTime = (text: string) => der(0x17, Buffer.from(text))
/** CN=test */
const NAME = sequence(der(0x31, sequence(Buffer.from('0603550403', 'hex'), der(0x0c, Buffer.from('test')))))

export type RsaCertificate = { privateKey: KeyObject; certificate: string }

/** A key and its self-signed X.509 certificate, in the form in which Google publishes those of its ID tokens. */
export function rsaCertificate(): RsaCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const body = sequence(
    der(0x02, Buffer.from([1])),
    SHA256_WITH_RSA,
    NAME,
    sequence(utcTime('200101000000Z'), utcTime('490101000000Z')),
    NAME,
    publicKey.export({ type: 'spki', format: 'der' }),
  )
  const signature = createSign('RSA-SHA256').update(body).sign(privateKey)
  const text = sequence(body, SHA256_WITH_RSA, der(0x03, Buffer.from([0]), signature)).toString('base64')
  return { privateKey, certificate: `-----BEGIN CERTIFICATE-----\n${text.match(/.{1,64}/g)!.join('\n')}\n-----END CERTIFICATE-----\n` }
}

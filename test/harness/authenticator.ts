import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'
import type { Seen } from './operators.ts'

/** What a page asks of a browser. */
export type PageOptions = {
  challenge: string
  rp?: { id: string }
  rpId?: string
  user?: { id: string }
  excludeCredentials?: { id: string }[]
  allowCredentials?: { id: string }[]
}

/** What the device or its browser does otherwise than they should. */
export type Wrongs = {
  origin?: string
  rpId?: string
  challenge?: string
  type?: string
  crossOrigin?: boolean
  /** Present and verified unless given. */
  flags?: number
  counter?: number
  userHandle?: string | null
  id?: string
  tamper?: boolean
  /** The statement about the maker of the device. */
  attestation?: { fmt: string; attStmt: Map<string, unknown> }
}

const PRESENT = 0x01
const VERIFIED = 0x04
const HAS_KEY = 0x40
const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest()
const base64url = (bytes: Buffer | Uint8Array) => Buffer.from(bytes).toString('base64url')

/** The options in the form of a page. */
export function optionsIn({ text }: Pick<Seen, 'text'>): PageOptions {
  const escaped = /data-options="([^"]+)"/.exec(text)![1]!
  return JSON.parse(escaped.replaceAll('&quot;', '"').replaceAll('&amp;', '&'))
}

export const PRESENT_ONLY = PRESENT

/** A device with one passkey (ES256), and the browser that it is used with. The answers are what the script of the page sends. */
export function authenticator(origin: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const id = base64url(randomBytes(32))
  let counter = 0
  let userHandle: string | null = null

  const clientData = (type: string, options: PageOptions, wrongs: Wrongs) =>
    Buffer.from(
      JSON.stringify({
        type: wrongs.type ?? type,
        challenge: wrongs.challenge ?? options.challenge,
        origin: wrongs.origin ?? origin,
        crossOrigin: wrongs.crossOrigin ?? false,
      }),
    )
  const authData = (rpId: string, wrongs: Wrongs, key = Buffer.alloc(0)) => {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(wrongs.counter ?? ++counter)
    const flags = (wrongs.flags ?? PRESENT | VERIFIED) | (key.length > 0 ? HAS_KEY : 0)
    return Buffer.concat([sha256(wrongs.rpId ?? rpId), Buffer.from([flags]), count, key])
  }

  return {
    id,
    /** Makes the passkey. */
    create(options: PageOptions, wrongs: Wrongs = {}): string {
      userHandle = options.user!.id
      const given = wrongs.id ?? id
      const length = Buffer.alloc(2)
      length.writeUInt16BE(Buffer.from(given, 'base64url').length)
      const key = Buffer.concat([Buffer.alloc(16), length, Buffer.from(given, 'base64url'), coseOf(publicKey)])
      const { fmt, attStmt } = wrongs.attestation ?? { fmt: 'none', attStmt: new Map() }
      const object = new Map<string, unknown>([
        ['fmt', fmt],
        ['attStmt', attStmt],
        ['authData', new Uint8Array(authData(options.rp!.id, wrongs, key))],
      ])
      return JSON.stringify({
        id: given,
        clientData: base64url(clientData('webauthn.create', options, wrongs)),
        attestation: base64url(isoCBOR.encode(object as never)),
        transports: ['internal', 'hybrid'],
      })
    },
    /** Signs with it. */
    sign(options: PageOptions, wrongs: Wrongs = {}): string {
      const [client, data] = [clientData('webauthn.get', options, wrongs), authData(options.rpId!, wrongs)]
      const signature = sign('sha256', Buffer.concat([data, sha256(client)]), privateKey)
      if (wrongs.tamper) signature[signature.length - 1]! ^= 1
      return JSON.stringify({
        id: wrongs.id ?? id,
        clientData: base64url(client),
        authenticatorData: base64url(data),
        signature: base64url(signature),
        userHandle: wrongs.userHandle === undefined ? userHandle : wrongs.userHandle,
      })
    },
  }
}

export type Authenticator = ReturnType<typeof authenticator>

function coseOf(key: KeyObject): Buffer {
  const { x, y } = key.export({ format: 'jwk' })
  const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64url'))
  const map = new Map<number, number | Uint8Array>([
    ...([
      [1, 2],
      [3, -7],
      [-1, 1],
    ] as const),
    [-2, bytes(x!)],
    [-3, bytes(y!)],
  ])
  return Buffer.from(isoCBOR.encode(map as never))
}

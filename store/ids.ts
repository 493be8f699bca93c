import { createHash, randomBytes } from 'node:crypto'

// The only file that makes ids.

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz'
const base36 = (value: number, width: number) => value.toString(36).padStart(width, '0')

function random36(length: number): string {
  let text = ''
  // 252 = 7 × 36: larger bytes are dropped, so that every character is equally likely.
  while (text.length < length)
    for (const byte of randomBytes(length * 2)) if (byte < 252 && text.length < length) text += ALPHABET[byte % 36]
  return text
}

let lastMs = 0
let sequence = 0
let tail = random36(8)

/**
 * `{prefix}_` + 20 letters or digits: 9 of time, 3 of sequence, 8 random. The ids of one process grow in byte order, so new rows go to
 * the right edge of an index, and the items of one request keep their order in a tie.
 */
export function orderedId(prefix: string): string {
  const ms = Math.max(Date.now(), lastMs)
  if (ms !== lastMs) {
    lastMs = ms
    sequence = 0
    tail = random36(8)
  } else if (++sequence === 46_656) {
    lastMs += 1
    sequence = 0
  }
  return `${prefix}_${base36(lastMs, 9)}${base36(sequence, 3)}${tail}`
}

const ORDERED = /_([0-9a-z]{12})[0-9a-z]{8}$/
const TAIL = 36 ** 8

/**
 * The id of what exists once for `of`, an ordered id, and `name`: in the order of `of`, and the same whenever it is made anew. A database that was
 * restored, or has lost a confirmed transaction in a failover, makes some work again, and what it sends again must have the id that the receiver knows.
 * Where two may make the same row at one moment, `on conflict do nothing` has no target: both make it with the same id, so two indexes may refuse it.
 */
export function derivedId(prefix: string, of: string, name: string | number): string {
  const digest = createHash('sha256').update(`${of} ${name}`).digest()
  const head = ORDERED.exec(of)?.[1] ?? base36(digest.readUIntBE(6, 6), 12)
  return `${prefix}_${head}${base36(digest.readUIntBE(0, 6) % TAIL, 8)}`
}

/** `QON_` + 32 lower-case hex digits. */
export const userId = (): string => `QON_${randomBytes(16).toString('hex')}`

/** 32 characters of `[A-Za-z0-9_-]`: 192 random bits. */
export const opaqueId = (): string => randomBytes(24).toString('base64url')

/** `{prefix}_` and 43 characters: 256 random bits. */
export const opaqueToken = (prefix: string): string => `${prefix}_${randomBytes(32).toString('base64url')}`

/** 40 characters after the prefix: 240 random bits. */
export const secretKey = (): string => `sk_${randomBytes(30).toString('base64url')}`

/** 32 characters: 192 random bits. */
export const projectKey = (): string => randomBytes(24).toString('base64url')

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Each character has 5.95 random bits. */
export function random62(length: number): string {
  let text = ''
  // 248 = 4 × 62: larger bytes are dropped, so that every character is equally likely.
  while (text.length < length) for (const byte of randomBytes(length * 2)) if (byte < 248 && text.length < length) text += BASE62[byte % 62]
  return text
}

/** A whole number, with zeros before it up to `width`. */
export function base62(value: number, width: number): string {
  let text = ''
  for (let rest = value; rest > 0; rest = Math.floor(rest / 62)) text = BASE62[rest % 62] + text
  return text.padStart(width, BASE62[0])
}

let lastUuidMs = 0
let uuidSequence = 0

/**
 * Ids of remote configurations: UUIDs with 62 random bits. The other bits are those of a UUID of version 7 (48 of time, 12 of sequence), so
 * that the ids of one second are listed in the order of their creation. The version says 4, which the patterns of clients accept.
 */
export function uuid(): string {
  const ms = Math.max(Date.now(), lastUuidMs)
  uuidSequence = ms === lastUuidMs ? uuidSequence + 1 : 0
  lastUuidMs = ms
  if (uuidSequence === 0x1000) {
    lastUuidMs += 1
    uuidSequence = 0
  }
  const bytes = randomBytes(16)
  bytes.writeUIntBE(lastUuidMs, 0, 6)
  bytes.writeUInt16BE(0x4000 | uuidSequence, 6)
  bytes[8] = 0x80 | (bytes[8]! & 0x3f)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** A secret in the format of Standard Webhooks: 32 random bytes. */
export const signingSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

/** 43 characters: 256 random bits. Opens something by itself, such as a session. */
export const bearerToken = (): string => randomBytes(32).toString('base64url')

/** Without letters and digits that are read as others. */
const WRITTEN = '23456789abcdefghjkmnpqrstuvwxyz'

/** Four groups of four, to be written down: 79 random bits. */
export function recoveryCode(): string {
  let text = ''
  // 248 = 8 × 31: larger bytes are dropped, so that every character is equally likely.
  while (text.length < 16) for (const byte of randomBytes(32)) if (byte < 248 && text.length < 16) text += WRITTEN[byte % WRITTEN.length]
  return text.replace(/.{4}(?=.)/g, '$&-')
}

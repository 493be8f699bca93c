import type { Setting } from './provider.ts'

const TEXT = 2048
const KEY_BYTES = 16 * 1024
const RECIPIENTS = 50
/** A mailbox at a host, of characters that can be stored; what it really is, the mail server says. */
const ADDRESS = /^[^\s@<>,;\p{Cc}\p{Cs}]{1,64}@[^\s@<>,;\p{Cc}\p{Cs}]{1,189}$/u
const SECRET = /^whsec_[A-Za-z0-9+/]+={0,2}$/

/** 24 to 64 bytes, as Standard Webhooks has it. */
function isSigningSecret(value: string): boolean {
  if (!SECRET.test(value)) return false
  const encoded = value.slice('whsec_'.length)
  const bytes = Buffer.from(encoded, 'base64')
  return bytes.length >= 24 && bytes.length <= 64 && bytes.toString('base64') === encoded
}

function urlFault(value: string, allowPrivate: boolean): string | null {
  const protocols = allowPrivate ? ['https:', 'http:'] : ['https:']
  if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol) || new URL(value).username !== '')
    return `must be an address that begins with ${allowPrivate ? 'https:// or http://' : 'https://'}`
  return null
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** Why the setting cannot hold the value; null when it can. `allowPrivate`: whether the operator lets addresses be `http`. */
export function settingFault({ kind }: Setting, value: unknown, allowPrivate: boolean): string | null {
  if (kind === 'boolean') return typeof value === 'boolean' ? null : 'must be a boolean'
  if (kind === 'port')
    return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 65_535
      ? null
      : 'must be a whole number from 1 to 65535'
  if (kind === 'emails') {
    const isList = Array.isArray(value) && value.length <= RECIPIENTS && value.every(item => typeof item === 'string' && ADDRESS.test(item))
    return isList ? null : `must be at most ${RECIPIENTS} e-mail addresses`
  }
  if (!isText(value)) return 'must be a text that is not empty'
  if (/[\0]/.test(value) || !value.isWellFormed()) return 'must not hold a NUL or half a character'
  if (kind === 'long') return Buffer.byteLength(value) <= KEY_BYTES ? null : 'must have at most 16 KiB'
  if ([...value].length > TEXT) return `must have at most ${TEXT} characters`
  if (kind === 'signing_secret') return isSigningSecret(value) ? null : 'must be whsec_ and the base64 of 24 to 64 bytes'
  if (kind === 'url') return urlFault(value, allowPrivate)
  // A header is made of it: a line break would begin another one.
  return /[\r\n]/.test(value) ? 'must be one line' : null
}

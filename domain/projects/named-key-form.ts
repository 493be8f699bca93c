import { crc32 } from 'node:zlib'
import { base62, random62 } from '../../store/ids.ts'
import type { EnvironmentKind } from '../kernel/environment.ts'

// `pnk_live_` or `pnk_test_`, 36 random characters, and a checksum of all before it: 51 characters, so no Project Key (32) looks like one. Programs
// that look for lost keys tell it from other texts by prefix and checksum, and a mistyped key is refused without a look at the database.

const PREFIX: Record<EnvironmentKind, string> = { production: 'pnk_live_', sandbox: 'pnk_test_' }
/** 214 random bits. */
const RANDOM_LENGTH = 36
/** 62^6 is more than the 2^32 values of CRC-32. */
const CHECKSUM_LENGTH = 6
const FORM = /^pnk_(?:live|test)_[0-9A-Za-z]{42}$/

const checksum = (text: string) => base62(crc32(text), CHECKSUM_LENGTH)

export function newNamedKey(kind: EnvironmentKind): string {
  const text = PREFIX[kind] + random62(RANDOM_LENGTH)
  return text + checksum(text)
}

/** Whether a token has the form of a named key, be its checksum right or wrong. */
export const looksNamed = (token: string): boolean => FORM.test(token)

export const isChecksumRight = (key: string): boolean => checksum(key.slice(0, -CHECKSUM_LENGTH)) === key.slice(-CHECKSUM_LENGTH)

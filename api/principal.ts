import { isIP } from 'node:net'
import { isChecksumRight, looksNamed } from '../domain/projects/named-key-form.ts'
import { findNamedKey, type NamedKeyOwner, noteUse } from '../domain/projects/named-keys.ts'
import type { Principal } from '../domain/projects/principal.ts'
import type { Pool } from '../store/connect.ts'
import { type authenticator, bearerOf, unauthorized } from './authenticate.ts'
import { plainAddress } from './network-prefix.ts'
import { unknownKeys } from './unknown-keys.ts'

/** For so long a key that was found is looked up without counting against its address, which may be a proxy of many. */
const KNOWN_MS = 60_000
const MOST_KNOWN = 10_000

/** The caller's address as Postgres reads it; null for what a proxy says that is none. */
const inetOf = (address: string): string | null => {
  const plain = plainAddress(address)
  return isIP(plain) === 0 ? null : plain
}

/**
 * Header and address -> who makes a request of v4, or 401. A named key is looked up by every request: a revocation works at once, at every
 * process. Whatever is wrong with it, the answer is the same.
 */
export function principals(
  pool: Pool,
  ownerOf: ReturnType<typeof authenticator>,
): (header: string | undefined, address: string, isFresh?: boolean) => Promise<Principal> {
  const known = new Map<string, number>()
  const unknown = unknownKeys()

  const lookUp = (key: string, address: string) => {
    const find = () => findNamedKey(pool, key, inetOf(address))
    return (known.get(key) ?? 0) > performance.now() ? find() : unknown.lookUp(address, find)
  }

  async function named(key: string, address: string): Promise<NamedKeyOwner> {
    if (!isChecksumRight(key)) throw unauthorized()
    const found = await lookUp(key, address)
    known.delete(key)
    if (!found) throw unauthorized()
    if (known.size >= MOST_KNOWN) known.delete(known.keys().next().value!)
    known.set(key, performance.now() + KNOWN_MS)
    // The request does not wait for it, and a use that could not be noted is noted with the next one.
    if (found.isUseDue) noteUse(pool, found.owner, inetOf(address)).catch(() => {})
    return found.owner
  }

  return async (header, address, isFresh) => {
    const token = bearerOf(header)
    return token !== undefined && looksNamed(token) ? named(token, address) : ownerOf(header, address, isFresh)
  }
}

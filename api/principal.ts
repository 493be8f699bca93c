import { isIP } from 'node:net'
import type { Principal } from '../domain/operators/principal.ts'
import { isChecksumRight, looksNamed } from '../domain/projects/named-key-form.ts'
import { findNamedKey, type NamedKeyOwner, noteUse } from '../domain/projects/named-keys.ts'
import type { Pool } from '../store/connect.ts'
import { type authenticator, bearerOf, unauthorized } from './authenticate.ts'
import { joined } from './joined.ts'
import { plainAddress } from './network-prefix.ts'
import { unknownKeys } from './unknown-keys.ts'

const MOST_KNOWN = 10_000

/** The caller's address as Postgres reads it; null for what a proxy says that is none. */
const inetOf = (address: string): string | null => {
  const plain = plainAddress(address)
  return isIP(plain) === 0 ? null : plain
}

/**
 * Header and address -> who makes a request of v4, or 401. A named key is looked up after each request has come: a revocation works at once, at every
 * process. Whatever is wrong with it, the answer is the same.
 */
export function principals(
  pool: Pool,
  ownerOf: ReturnType<typeof authenticator>,
): (header: string | undefined, address: string, isFresh?: boolean) => Promise<Principal> {
  /** Keys that were found: looking them up again does not count against their address, which may be a proxy of many. */
  const known = new Set<string>()
  const unknown = unknownKeys()
  /** Ids of keys whose use is being noted. */
  const noting = new Set<string>()
  const look = joined((_: string, key: string, address: string) => findNamedKey(pool, key, inetOf(address)))

  function note(owner: NamedKeyOwner, address: string): void {
    if (noting.has(owner.keyId)) return
    noting.add(owner.keyId)
    // The request does not wait for it, and a use that could not be noted is noted with the next one.
    noteUse(pool, owner, inetOf(address))
      .catch(() => {})
      .finally(() => noting.delete(owner.keyId))
  }

  async function named(key: string, address: string): Promise<NamedKeyOwner> {
    if (!isChecksumRight(key)) throw unauthorized()
    const tried = `${key} ${address}`
    if (!known.has(key) && unknown.isRefused(tried)) throw unauthorized()
    const find = () => look(tried, key, address)
    const found = await (known.has(key) ? find() : unknown.lookUp(address, find))
    if (!found) {
      known.delete(key)
      unknown.refuse(tried)
      throw unauthorized()
    }
    if (known.size >= MOST_KNOWN) known.delete(known.values().next().value!)
    known.add(key)
    if (found.isUseDue) note(found.owner, address)
    return found.owner
  }

  return async (header, address, isFresh) => {
    const token = bearerOf(header)
    return token !== undefined && looksNamed(token) ? named(token, address) : ownerOf(header, address, isFresh)
  }
}

import { isIP } from 'node:net'
import type { Principal } from '../domain/operators/principal.ts'
import { isChecksumRight, looksNamed } from '../domain/projects/named-key-form.ts'
import { findNamedKey, type KeyUse, type NamedKeyOwner, noteKeyUses } from '../domain/projects/named-keys.ts'
import type { Pool } from '../store/connect.ts'
import { type authenticator, bearerOf, unauthorized } from './authenticate.ts'
import { joined } from './joined.ts'
import { plainAddress } from './network-prefix.ts'
import { noted } from './noted.ts'
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
  const look = joined((_: string, key: string, address: string) => findNamedKey(pool, key, inetOf(address)))

  const note = noted<KeyUse>(
    uses => noteKeyUses(pool, uses),
    ({ environment }) => environment,
  )

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
    if (found.isUseDue) note({ ...found.owner, address: inetOf(address) })
    return found.owner
  }

  return async (header, address, isFresh) => {
    const token = bearerOf(header)
    return token !== undefined && looksNamed(token) ? named(token, address) : ownerOf(header, address, isFresh)
  }
}

import { findKey, type KeyOwner } from '../domain/projects/keys.ts'
import type { Pool } from '../store/connect.ts'
import { Problem } from './errors.ts'
import { unknownKeys } from './unknown-keys.ts'

/** A key is looked up again after this time. With the grace period of a rotation, an old key works at most 10 s longer. */
const CACHE_MS = 4_000
const CACHE_SIZE = 10_000
const BEARER = /^bearer +([A-Za-z0-9_-]{1,200})$/i

export const unauthorized = () =>
  new Problem('control_unauthorized', 'a valid key is required: Authorization: Bearer sk_…', {
    headers: { 'WWW-Authenticate': 'Bearer' },
  })

/** The token of an Authorization header. */
export const bearerOf = (header: string | undefined): string | undefined => (header === undefined ? undefined : BEARER.exec(header)?.[1])

/**
 * Header -> owner of the key, or 401. The cache has known keys only: the number of refused keys has no bound. `address`: of the caller, whose
 * unknown keys are counted. A key that was known a moment ago is always looked up, because many callers may share the address of a proxy.
 * `isFresh`: the key is looked up now, because a rotation may have replaced it since.
 */
export function authenticator(pool: Pool): (header: string | undefined, address: string, isFresh?: boolean) => Promise<KeyOwner> {
  const cache = new Map<string, { owner: KeyOwner; until: number }>()
  const lookups = new Map<string, Promise<KeyOwner | null>>()
  const unknown = unknownKeys()

  /** Requests with the same key share one lookup. */
  const lookUp = (token: string): Promise<KeyOwner | null> => {
    const running = lookups.get(token)
    if (running) return running
    const lookup = findKey(pool, token).finally(() => lookups.delete(token))
    lookups.set(token, lookup)
    return lookup
  }

  return async (header, address, isFresh = false) => {
    const token = bearerOf(header)
    if (token === undefined) throw unauthorized()
    const hit = cache.get(token)
    const now = performance.now()
    if (!isFresh && hit && hit.until > now) return hit.owner
    if (!hit && unknown.isRefused(token)) throw unauthorized()
    // A fresh key does not share a lookup that is under way: it may have begun before the rotation.
    const find = () => (isFresh ? findKey(pool, token) : lookUp(token))
    const isCounted = !hit && (isFresh || !lookups.has(token))
    const owner = await (isCounted ? unknown.lookUp(address, find) : find())
    cache.delete(token)
    if (!owner) {
      unknown.refuse(token)
      throw unauthorized()
    }
    if (cache.size >= CACHE_SIZE) cache.delete(cache.keys().next().value!)
    cache.set(token, { owner, until: now + CACHE_MS })
    return owner
  }
}

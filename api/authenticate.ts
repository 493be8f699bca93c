import { findKey, type KeyOwner } from '../domain/projects/keys.ts'
import type { Pool } from '../store/connect.ts'
import { Problem } from './errors.ts'

/** A key is looked up again after this time. With the grace period of a rotation, an old key works at most 10 s longer. */
const CACHE_MS = 4_000
const CACHE_SIZE = 10_000
const BEARER = /^bearer +([A-Za-z0-9_-]{1,200})$/i

const unauthorized = () =>
  new Problem('control_unauthorized', 'a valid Secret Key is required: Authorization: Bearer sk_…', {
    headers: { 'WWW-Authenticate': 'Bearer' },
  })

/**
 * Header -> owner of the key, or 401. The cache has known keys only: the number of refused keys has no bound. `isFresh`: the key is looked
 * up now, because a rotation may have replaced it since.
 */
export function authenticator(pool: Pool): (header: string | undefined, isFresh?: boolean) => Promise<KeyOwner> {
  const cache = new Map<string, { owner: KeyOwner; until: number }>()
  const lookups = new Map<string, Promise<KeyOwner | null>>()

  /** Requests with the same key share one lookup. */
  const lookUp = (token: string): Promise<KeyOwner | null> => {
    const running = lookups.get(token)
    if (running) return running
    const lookup = findKey(pool, token).finally(() => lookups.delete(token))
    lookups.set(token, lookup)
    return lookup
  }

  return async (header, isFresh = false) => {
    const token = header === undefined ? undefined : BEARER.exec(header)?.[1]
    if (token === undefined) throw unauthorized()
    const hit = isFresh ? undefined : cache.get(token)
    const now = performance.now()
    if (hit && hit.until > now) return hit.owner
    // Not a lookup that is under way: it may have begun before the rotation.
    const owner = await (isFresh ? findKey(pool, token) : lookUp(token))
    cache.delete(token)
    if (!owner) throw unauthorized()
    if (cache.size >= CACHE_SIZE) cache.delete(cache.keys().next().value!)
    cache.set(token, { owner, until: now + CACHE_MS })
    return owner
  }
}

import { findKey, type KeyOwner } from '../domain/projects/keys.ts'
import type { Pool } from '../store/connect.ts'
import { Problem } from './errors.ts'

/** A key is looked up again after this long; with the grace of a rotation an old key works at most 10 s more. */
const CACHE_MS = 4_000
const CACHE_SIZE = 10_000
const BEARER = /^bearer +([A-Za-z0-9_-]{1,200})$/i

const unauthorized = () =>
  new Problem('control_unauthorized', 'a valid Secret Key is required: Authorization: Bearer sk_…', {
    headers: { 'WWW-Authenticate': 'Bearer' },
  })

/** Header -> owner of the key, or 401. Known keys are remembered for a moment; refused ones never (their number is not ours to bound). */
export function authenticator(pool: Pool): (header: string | undefined) => Promise<KeyOwner> {
  const known = new Map<string, { owner: KeyOwner; until: number }>()
  const asked = new Map<string, Promise<KeyOwner | null>>()

  const ask = (token: string): Promise<KeyOwner | null> => {
    const under = asked.get(token)
    if (under) return under
    const answer = findKey(pool, token).finally(() => asked.delete(token))
    asked.set(token, answer)
    return answer
  }

  return async header => {
    const token = header === undefined ? undefined : BEARER.exec(header)?.[1]
    if (token === undefined) throw unauthorized()
    const hit = known.get(token)
    const now = performance.now()
    if (hit && hit.until > now) return hit.owner
    const owner = await ask(token)
    known.delete(token)
    if (!owner) throw unauthorized()
    if (known.size >= CACHE_SIZE) known.delete(known.keys().next().value!)
    known.set(token, { owner, until: now + CACHE_MS })
    return owner
  }
}

import { findGrant, type GrantOwner, noteGrantUses } from '../../domain/operators/grants/grant.ts'
import { hashKey } from '../../domain/projects/secrets.ts'
import type { Pool } from '../../store/connect.ts'
import { bearerOf } from '../authenticate.ts'
import { Problem } from '../errors.ts'
import { joined } from '../joined.ts'
import { noted } from '../noted.ts'
import { unknownKeys } from '../unknown-keys.ts'

const MOST_KNOWN = 10_000

const metadata = (publicUrl: string) => `resource_metadata="${publicUrl}/.well-known/oauth-protected-resource/mcp"`

const unauthorized = (publicUrl: string, hasToken: boolean) =>
  new Problem('control_unauthorized', 'an access token of this server is required; keys of a project are not accepted', {
    headers: { 'WWW-Authenticate': `Bearer ${hasToken ? 'error="invalid_token", ' : ''}${metadata(publicUrl)}` },
  })

/** 403 for tools outside of the scopes. */
export const insufficientScope = (publicUrl: string, needed: readonly string[]): Problem =>
  new Problem('insufficient_scope', `the token has no scope ${needed.join(', ')}, or the operator's role no longer covers it`, {
    headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${needed.join(' ')}", ${metadata(publicUrl)}` },
  })

/** Header and address -> whose grant it is, or 401. It is looked up for each request, so that the end of a grant or of a role works at once. */
export function grants(pool: Pool): (header: string | undefined, address: string, publicUrl: string) => Promise<GrantOwner> {
  /** Hashes of tokens that were found: looking them up again does not count against their address, which many people may share. */
  const known = new Set<string>()
  const unknown = unknownKeys()
  const look = joined((hash: string) => findGrant(pool, Buffer.from(hash, 'hex')))
  const note = noted<GrantOwner>(
    owners =>
      noteGrantUses(
        pool,
        owners.map(({ keyId }) => keyId),
      ),
    ({ environment }) => environment,
  )
  return async (header, address, publicUrl) => {
    const token = bearerOf(header)
    if (token === undefined) throw unauthorized(publicUrl, header !== undefined)
    const hash = hashKey(token).toString('hex')
    if (!known.has(hash) && unknown.isRefused(hash)) throw unauthorized(publicUrl, true)
    const found = await (known.has(hash) ? look(hash) : unknown.lookUp(address, () => look(hash)))
    if (!found) {
      known.delete(hash)
      unknown.refuse(hash)
      throw unauthorized(publicUrl, true)
    }
    if (known.size >= MOST_KNOWN) known.delete(known.values().next().value!)
    known.add(hash)
    if (found.isUseDue) note(found.owner)
    return found.owner
  }
}

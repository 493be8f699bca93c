import type { KeyOwner } from '../domain/projects/keys.ts'
import type { authenticator } from './authenticate.ts'
import type { Context } from './context.ts'
import { Problem } from './errors.ts'
import { networkPrefix } from './network-prefix.ts'
import { type RateLimit, rateLimiter } from './rate-limit.ts'

/** Addresses that are remembered. Beyond them the one that was not seen for the longest time is forgotten. */
const MOST_ADDRESSES = 20_000

/** The limit of one address for requests with Project Keys, which are public, and with refused keys; of all protocols of apps together. */
export type AddressLimit = {
  /** The owner of the key of the request. A refused key takes a token of the address. */
  ownerOf(ctx: Context, find: ReturnType<typeof authenticator>): Promise<KeyOwner>
  take(ctx: Context, owner: KeyOwner): void
}

export function addressLimit(limit: RateLimit): AddressLimit {
  const takeOf = rateLimiter(limit, undefined, MOST_ADDRESSES)
  return {
    ownerOf: (ctx, find) =>
      find(ctx.req.headers.authorization, ctx.ip).catch(error => {
        if (error instanceof Problem && error.status === 401) takeOf(networkPrefix(ctx.ip), 1)
        throw error
      }),
    take: (ctx, { kind }) => void (kind === 'project' && takeOf(networkPrefix(ctx.ip), 1)),
  }
}

import type { Layer } from '../context.ts'
import { Problem } from '../errors.ts'

/** Where SDKs redeem tokens of a purchase in the web, ask for their state, and have one sent again. */
const ADDRESSES = new Set(['/v4/web/redeem', '/v4/web/redeem/status', '/v4/web/redeem/reissue'])

/** The service issues no such tokens. SDKs handle `not_found` as an unknown token, and `invalid_request` as a failure of the service. */
export const webTokens: Layer = async (ctx, next) => {
  if (ctx.method === 'POST' && ADDRESSES.has(ctx.path)) throw new Problem('not_found', 'token not found')
  await next()
}

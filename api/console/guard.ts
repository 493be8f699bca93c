import type { Context } from '../context.ts'
import { Problem } from '../errors.ts'

const MARK = 'X-Console'
const JSON_TYPE = /^application\/json\s*(;|$)/i

const originOf = (address: string): string | undefined => (URL.canParse(address) ? new URL(address).origin : undefined)
const hostOf = (address: string): string | undefined => (URL.canParse(address) ? new URL(address).host : undefined)

/**
 * Refuses what another site makes a browser send with the cookie of the session. A write has a header that no form and no image has, and that a script
 * of another origin may not set; and it comes from a page of this service, as the browser says.
 */
export function assertFromConsole(ctx: Pick<Context, 'method' | 'get'>, publicUrl: string): void {
  const site = ctx.get('Sec-Fetch-Site')
  const isRead = ctx.method === 'GET' || ctx.method === 'HEAD'
  // `none`: somebody has typed the address.
  if (site !== '' && site !== 'same-origin' && !(isRead && site === 'none'))
    throw new Problem('control_forbidden', 'the request was sent from another site')
  if (isRead) return
  if (site === '' && !isOwnOrigin(ctx.get('Origin'), publicUrl, ctx.get('Host')))
    throw new Problem('control_forbidden', 'the request names no page of this service as its origin')
  if (ctx.get(MARK) !== '1') throw new Problem('control_forbidden', `a change needs the header ${MARK}: 1`)
  if (!JSON_TYPE.test(ctx.get('Content-Type')))
    throw new Problem('invalid_request', 'Content-Type must be application/json', { status: 415 })
}

/** Browsers that say no more than the origin: it must be the service's own, under whichever name it was called. */
const isOwnOrigin = (origin: string, publicUrl: string, host: string): boolean =>
  origin !== '' && (originOf(origin) === originOf(publicUrl) || hostOf(origin) === host)

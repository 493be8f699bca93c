import { readSession, type SignedIn } from '../../domain/operators/session.ts'
import type { Secrets } from '../../domain/projects/secrets.ts'
import type { Pool } from '../../store/connect.ts'
import type { ConsoleSource } from '../console/source.ts'
import type { Context } from '../context.ts'
import { addressIn, networkPrefix, plainAddress } from '../network-prefix.ts'
import { PROVIDER } from './provider-link.ts'

/** What pages for operators need. `publicUrl` is read at each request: with PORT=0 it is known after the start. */
export type SessionDeps = {
  pool: Pool
  checks: Pool
  secrets: Secrets
  publicUrl: string
  /** Null: there is no console. */
  console: ConsoleSource | null
}

const isSecure = ({ publicUrl }: SessionDeps): boolean => publicUrl.startsWith('https:')

/** With `__Host-` no other host, and no page without TLS, can set the cookie. A browser takes that name over TLS only. */
const nameOf = (deps: SessionDeps, name: string): string => (isSecure(deps) ? `__Host-${name}` : name)

const SESSION = 'perennial'

const TOKEN = /^[\w-]{43}$/

export function cookieOf(deps: SessionDeps, ctx: Context, name: string = SESSION, form = TOKEN): string | undefined {
  const value = ctx.cookies.get(nameOf(deps, name))
  return value !== undefined && form.test(value) ? value : undefined
}

export function setCookie(deps: SessionDeps, ctx: Context, value: string | null, name: string = SESSION, maxAge?: number): void {
  const parts = [`${nameOf(deps, name)}=${value ?? ''}`, 'Path=/', 'HttpOnly', 'SameSite=Lax']
  if (isSecure(deps)) parts.push('Secure')
  // A session cookie of the browser otherwise: the server knows when the session ends.
  if (value === null || maxAge !== undefined) parts.push(`Max-Age=${value === null ? 0 : maxAge}`)
  ctx.append('Set-Cookie', parts.join('; '))
}

/** Who is signed in in the browser of the request; null: nobody. */
export async function signedIn(deps: SessionDeps, ctx: Context): Promise<SignedIn | null> {
  const token = cookieOf(deps, ctx)
  return token === undefined ? null : readSession(deps.checks, token)
}

/**
 * The address of the caller as it is stored, and the part of it by which guesses are counted. Where a proxy names none, they count for the proxy:
 * a header that names something else each time is no way around the limit.
 */
export function callerOf(ctx: Context) {
  const address = addressIn(ctx.ip)
  const network = networkPrefix(address === '' ? plainAddress(ctx.req.socket.remoteAddress ?? '') : address)
  return { network, device: { address: address === '' ? null : address, userAgent: ctx.get('User-Agent') || null } }
}

/** Where somebody goes who has signed in and wanted nothing else: to the console, or to the page of the account where there is none. */
export const homeOf = ({ console }: Pick<SessionDeps, 'console'>): string =>
  console && console.state() !== 'missing' ? '/console' : '/console/account'

/** The path and query of this service that `next` names; anything else is `homeOf`. */
export function localPath(deps: SessionDeps, next: string | null | undefined): string {
  const fallback = homeOf(deps)
  // A browser takes a backslash for a slash, drops tabs and line breaks, and `//host` is another host.
  if (!next || next.length > 8_000 || !/^\/(?![/\\])[!-~]*$/.test(next) || next.includes('\\')) return fallback
  const { origin, pathname, search } = new URL(next, 'http://local')
  // A trip to the provider begins at a link that this service shows, and not at the end of a sign-in.
  const isTrip = pathname === PROVIDER || pathname.startsWith(`${PROVIDER}/`)
  return origin === 'http://local' && !pathname.startsWith('//') && !isTrip ? pathname + search : fallback
}

export function redirectTo(ctx: Context, path: string): void {
  ctx.status = 303
  ctx.set({ Location: path, 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' })
  ctx.body = ''
}

/** Sends the browser to sign in, and from there back to the page that it has asked for. */
export const askToSignIn = (ctx: Context): void => redirectTo(ctx, `/sign-in?next=${encodeURIComponent(pageOfRequest(ctx))}`)

/** Sends the browser to give password or code once more, where `isRecent` is false and the page does something sensitive. */
export const askAgain = (ctx: Context, to = pageOfRequest(ctx)): void => redirectTo(ctx, `/sign-in/again?next=${encodeURIComponent(to)}`)

/** Of a form that was sent the page of the account: nothing is sent again by itself. */
const pageOfRequest = (ctx: Context): string => (ctx.method === 'GET' || ctx.method === 'HEAD' ? ctx.path + ctx.search : '/console/account')

import { timingSafeEqual } from 'node:crypto'
import type { ProviderTrip } from '../../domain/operators/provider.ts'
import { TRIP_MINUTES } from '../../domain/operators/provider-sign-in.ts'
import { bearerToken } from '../../store/ids.ts'
import type { Context } from '../context.ts'
import { PROVIDER, type Purpose } from './provider-link.ts'
import { cookieOf, type SessionDeps, setCookie } from './session.ts'

/** What a browser keeps while it is at the provider: sealed, so nobody else reads or makes one. A later trip replaces it. */
export type Trip = Pick<ProviderTrip, 'state' | 'nonce' | 'verifier'> & {
  purpose: Purpose
  to: string
  /** Of the person who is signed in, where the trip is about them. */
  session: string | null
  /** In milliseconds. */
  begunAt: number
}

const COOKIE = 'perennial-oidc'
const CONTEXT = 'trip to the provider'
const SEALED = /^[\w-]{1,4000}$/
/** A browser takes cookies of 4 kB. */
const LONGEST_PATH = 2_400

const callbackOf = ({ publicUrl }: SessionDeps): string => `${publicUrl}${PROVIDER}/callback`

/** Binds a new trip to the browser. */
export function beginTrip(deps: SessionDeps, ctx: Context, purpose: Purpose, to: string, session: string | null): Trip {
  const random = { state: bearerToken(), nonce: bearerToken(), verifier: bearerToken() }
  const path = to.length > LONGEST_PATH ? '/console/account' : to
  const trip: Trip = { ...random, purpose, to: path, session, begunAt: Date.now() }
  setCookie(deps, ctx, deps.secrets.seal(JSON.stringify(trip), CONTEXT).toString('base64url'), COOKIE, TRIP_MINUTES * 60)
  return trip
}

/** The trip from which this browser comes back with that state; it ends now. Null: another browser's, a later one has begun, or it is over. */
export function endTrip(deps: SessionDeps, ctx: Context): Trip | null {
  const trip = tripOf(deps, ctx)
  const given = Buffer.from(typeof ctx.query.state === 'string' ? ctx.query.state : '')
  const own = Buffer.from(trip?.state ?? '')
  // With a foreign state the trip goes on: another site cannot end it.
  if (!trip || own.length !== given.length || !timingSafeEqual(own, given)) return null
  setCookie(deps, ctx, null, COOKIE)
  return trip.begunAt > Date.now() - TRIP_MINUTES * 60_000 ? trip : null
}

function tripOf(deps: SessionDeps, ctx: Context): Trip | null {
  const sealed = cookieOf(deps, ctx, COOKIE, SEALED)
  if (sealed === undefined) return null
  try {
    return JSON.parse(deps.secrets.open(Buffer.from(sealed, 'base64url'), CONTEXT))
  } catch {
    return null
  }
}

/** What the provider is told, at the beginning and at the end. */
export const toldOf = (deps: SessionDeps, { state, nonce, verifier, purpose, begunAt }: Trip): ProviderTrip => ({
  redirectUri: callbackOf(deps),
  state,
  nonce,
  verifier,
  provedSince: purpose === 'again' ? Math.floor(begunAt / 1000) : null,
})

import { timingSafeEqual } from 'node:crypto'
import getRawBody from 'raw-body'
import { bearerToken } from '../../store/ids.ts'
import type { Context } from '../context.ts'
import { type Html, html } from './html.ts'
import { cookieOf, type SessionDeps, setCookie } from './session.ts'

const MOST_BYTES = 32 * 1024
/** Before somebody signs in the token of a form belongs to this cookie. */
const FORM_COOKIE = 'perennial-form'

/** Answered as a page. */
export class FormProblem extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Bound to the session, and to nothing that another page or host can set. */
const tokenOf = (deps: SessionDeps, cookie: string, of = 'form'): string => deps.secrets.sign(`${of} ${cookie}`)

function isTokenOf(deps: SessionDeps, cookie: string | undefined, sent: string, of?: string): boolean {
  const given = Buffer.from(sent)
  const own = Buffer.from(cookie === undefined ? '' : tokenOf(deps, cookie, of))
  return own.length > 0 && own.length === given.length && timingSafeEqual(own, given)
}

/** For a link that begins a change of the account. Not the token of forms: addresses are written into logs. Null: nobody is signed in. */
export function linkToken(deps: SessionDeps, ctx: Context): string | null {
  const cookie = cookieOf(deps, ctx)
  return cookie === undefined ? null : tokenOf(deps, cookie, 'link')
}

/** Whether a page of this session has shown the link. */
export const hasLinkToken = (deps: SessionDeps, ctx: Context): boolean =>
  isTokenOf(deps, cookieOf(deps, ctx), String(ctx.query.token ?? ''), 'link')

/** The cookie to which the forms of a page belong. Sets one where nobody is signed in. */
export function formCookie(deps: SessionDeps, ctx: Context): string {
  const sent = cookieOf(deps, ctx) ?? cookieOf(deps, ctx, FORM_COOKIE) ?? ctx.state.formCookie
  if (sent !== undefined) return sent
  const cookie = bearerToken()
  setCookie(deps, ctx, cookie, FORM_COOKIE)
  ctx.state.formCookie = cookie
  return cookie
}

/** The hidden field that every form has. */
export const formToken = (deps: SessionDeps, ctx: Context): Html =>
  html`<input type="hidden" name="form_token" value="${tokenOf(deps, formCookie(deps, ctx))}">`

/** `get` answers '' for a field that is missing. `cookie`: to which the form belongs. */
export type SentForm = { get(name: string): string; all(name: string): string[]; cookie: string }

/** The fields of a form that this service has shown to this browser. Throws `FormProblem` for every other request. */
export async function readForm(deps: SessionDeps, ctx: Context): Promise<SentForm> {
  if (!isFromHere(deps, ctx)) throw new FormProblem(403, 'The form was sent from another site.')
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(ctx.get('Content-Type')))
    throw new FormProblem(415, 'The form was sent in a form that this page does not read.')
  const bytes = await getRawBody(ctx.req, { limit: MOST_BYTES }).catch(() => {
    throw new FormProblem(413, 'The form is too large, or did not arrive whole.')
  })
  const fields = new URLSearchParams(bytes.toString('utf8'))
  const cookie = cookieOf(deps, ctx) ?? cookieOf(deps, ctx, FORM_COOKIE)
  if (!isTokenOf(deps, cookie, fields.get('form_token') ?? '') || cookie === undefined)
    throw new FormProblem(403, 'The form is out of date, or cookies are switched off. Open the page again and send it once more.')
  return { get: name => fields.get(name) ?? '', all: name => fields.getAll(name), cookie }
}

/**
 * What the browser says about the page that has sent the form. `Referrer-Policy: no-referrer` makes it send `Origin: null`, and without TLS it says
 * nothing else: then the token alone decides.
 */
function isFromHere({ publicUrl }: SessionDeps, ctx: Context): boolean {
  const site = ctx.get('Sec-Fetch-Site')
  if (site !== '') return site === 'same-origin'
  const origin = ctx.get('Origin')
  if (origin === '' || origin === 'null') return true
  return origin === (URL.canParse(publicUrl) ? new URL(publicUrl).origin : undefined) || originHost(origin) === ctx.get('Host')
}

const originHost = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined)

import { createHash, timingSafeEqual } from 'node:crypto'
import type Koa from 'koa'
import { wrongPasswords } from './attempts.ts'
import { Problem } from './errors.ts'

/** `pages` answers all addresses below `at`. */
export type OperatorDeps = { operator?: { at: string; password: string; pages: Koa.Middleware } | undefined }

/** Allows files of this origin only. Inline styles are allowed because the board writes styles into its elements. */
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; object-src 'none'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'"

const digest = (text: string) => createHash('sha256').update(text).digest()

/** The password of `Authorization: Basic …`; the name does not matter. */
function passwordIn(header: string): string | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/]+=*) *$/i.exec(header)?.[1]
  return encoded && /^[^:]*:(.*)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8'))?.[1]
}

/** The operator's pages, behind a password that is not a key of a project. Without a password these addresses do not exist. */
export function operatorRoutes({ operator }: OperatorDeps): Koa.Middleware {
  if (!operator) return (_ctx, next) => next()
  const { at, password, pages } = operator
  const expected = digest(password)
  const attempts = wrongPasswords()
  return async (ctx, next) => {
    if (ctx.path !== at && !ctx.path.startsWith(`${at}/`)) return next()
    ctx.state.route = at
    const given = passwordIn(ctx.get('Authorization'))
    const wait = given === undefined ? null : attempts.wait(ctx.ip)
    if (wait !== null)
      throw new Problem('rate_limit_exceeded', `ten wrong passwords; try again in ${wait} s`, { headers: { 'Retry-After': String(wait) } })
    if (given === undefined || !timingSafeEqual(digest(given), expected)) {
      if (given !== undefined) attempts.count(ctx.ip)
      const headers = { 'WWW-Authenticate': 'Basic realm="Perennial operator", charset="UTF-8"' }
      throw new Problem('control_unauthorized', 'the password of the operator is needed', { headers })
    }
    ctx.set({ 'Content-Security-Policy': POLICY, 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer' })
    await pages(ctx, next)
  }
}

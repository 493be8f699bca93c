import { readFile } from 'node:fs/promises'
import { Refusal } from '../../domain/kernel/refusal.ts'
import type { Context, Layer } from '../context.ts'
import { getAccount, postPassword, postSessions } from './account.ts'
import { getFactor, postFactor, postRecoveryCodes } from './account-factor.ts'
import { getPasskeys, postPasskeys, postRemovePasskey } from './account-passkeys.ts'
import { getAgain, postAgain, postAgainWithPasskey } from './again.ts'
import { ASSISTANTS, getAssistants, postAssistants } from './assistants.ts'
import { FormProblem } from './form.ts'
import { html } from './html.ts'
import { getFirst, getJoin, postFirst, postJoin } from './join.ts'
import { ASSETS, protect, showPage } from './page.ts'
import type { PageDeps } from './page-deps.ts'
import { getCallback, getProvider } from './provider.ts'
import { PROVIDER } from './provider-link.ts'
import { redirectTo } from './session.ts'
import { getCode, getSetUp, getSignIn, postCode, postPasskey, postSetUp, postSignIn, postSignOut } from './sign-in.ts'

type Answer = (deps: PageDeps, ctx: Context) => Promise<void>
type Methods = { get?: Answer; post?: Answer }

/** The address of a page that was the answer to a form. */
const instead =
  (path: string): Answer =>
  async (_deps, ctx) =>
    redirectTo(ctx, path)

const PAGES: Record<string, Methods> = {
  '/sign-in': { get: getSignIn, post: postSignIn },
  '/sign-in/passkey': { get: instead('/sign-in'), post: postPasskey },
  '/sign-in/code': { get: getCode, post: postCode },
  '/sign-in/second-factor': { get: (deps, ctx) => getSetUp(deps, ctx), post: postSetUp },
  '/sign-in/again': { get: getAgain, post: postAgain },
  '/sign-in/again/passkey': { get: instead('/sign-in/again'), post: postAgainWithPasskey },
  [PROVIDER]: { get: getProvider },
  [`${PROVIDER}/callback`]: { get: getCallback },
  '/console/sign-in': { get: async (_deps, ctx) => redirectTo(ctx, `/sign-in${ctx.search}`) },
  '/sign-out': { post: postSignOut },
  '/console/first': { get: getFirst, post: postFirst },
  '/console/join': { get: getJoin, post: postJoin },
  '/console/account': { get: getAccount },
  '/console/account/password': { post: postPassword },
  '/console/account/second-factor': { get: getFactor, post: postFactor },
  '/console/account/passkeys': { get: getPasskeys, post: postPasskeys },
  '/console/account/passkeys/remove': { post: postRemovePasskey },
  '/console/account/recovery-codes': { post: postRecoveryCodes },
  '/console/account/sessions': { post: postSessions },
  [ASSISTANTS]: { get: getAssistants, post: postAssistants },
}

const FILES: Record<string, readonly [file: string, type: string]> = {
  'pages.css': ['sign-in/pages.css', 'text/css; charset=utf-8'],
  'code.js': ['sign-in/code.js', 'text/javascript; charset=utf-8'],
  'passkey.js': ['sign-in/passkey.js', 'text/javascript; charset=utf-8'],
  'theme.js': ['assets/theme.js', 'text/javascript; charset=utf-8'],
  'icon.svg': ['assets/icon.svg', 'image/svg+xml'],
}
/** The queue of passwords is some three seconds long. */
const RETRY_SECONDS = '5'
const WEB = new URL('../../web/', import.meta.url)

async function sendFile(ctx: Context, name: string): Promise<boolean> {
  const found = Object.hasOwn(FILES, name) ? FILES[name] : undefined
  if (!found) return false
  protect(ctx)
  ctx.status = 200
  ctx.type = found[1]
  ctx.set('Cache-Control', 'no-cache')
  ctx.body = await readFile(new URL(found[0], WEB))
  return true
}

/** The pages with which people sign in and look after their account. All other requests go on. */
export function signInPages(deps: PageDeps): Layer {
  return async (ctx, next) => {
    if (ctx.path.startsWith(`${ASSETS}/`) && (await sendFile(ctx, ctx.path.slice(ASSETS.length + 1)))) return
    const methods = Object.hasOwn(PAGES, ctx.path) ? PAGES[ctx.path] : undefined
    if (!methods) return next()
    ctx.state.route = ctx.path
    const answer = ctx.method === 'POST' ? methods.post : ctx.method === 'GET' || ctx.method === 'HEAD' ? methods.get : undefined
    if (!answer) {
      ctx.set('Allow', [...(methods.get ? ['GET', 'HEAD'] : []), ...(methods.post ? ['POST'] : [])].join(', '))
      return showProblem(ctx, new FormProblem(405, 'This page does not know this method.'))
    }
    try {
      await answer(deps, ctx)
    } catch (error) {
      showProblem(ctx, problemOf(error))
    }
  }
}

/** Passwords are checked a few at a time, so that they leave memory for everything else. */
function problemOf(error: unknown): FormProblem {
  if (error instanceof FormProblem) return error
  if (!(error instanceof Refusal && error.code === 'not_available')) throw error
  return new FormProblem(503, 'Too many people sign in at this moment. Try again in a few seconds.')
}

const showProblem = (ctx: Context, { status, message }: FormProblem): void => {
  if (status === 503) ctx.set('Retry-After', RETRY_SECONDS)
  showPage(
    ctx,
    { title: 'This did not work', body: html`<p>${message}</p><p><a class="button" href="/sign-in">To the sign-in page</a></p>` },
    status,
  )
}

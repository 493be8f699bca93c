import { signInWithPasskey } from '../../domain/operators/passkeys/sign-in.ts'
import { secondFactorInSetUp } from '../../domain/operators/second-factor.ts'
import { endSessionOf, type MissingStep, readPending } from '../../domain/operators/session.ts'
import { confirmCode, confirmSetUp, signIn } from '../../domain/operators/sign-in.ts'
import type { Context } from '../context.ts'
import { type Failed, failedBy, WRONG_CODE } from './failed.ts'
import { formToken, readForm } from './form.ts'
import { type Html, html } from './html.ts'
import { alert, field, notice, showPage } from './page.ts'
import type { PageDeps } from './page-deps.ts'
import { answerIn, failedPasskey, PASSKEY_SCRIPT, passkeyButton } from './passkey-form.ts'
import { providerLink } from './provider-link.ts'
import { recoveryCodes, secretPicture } from './second-factor.ts'
import { callerOf, cookieOf, localPath, redirectTo, type SessionDeps, setCookie, signedIn } from './session.ts'

const next = (path: string) => html`<input type="hidden" name="next" value="${path}">`
export const withNext = (path: string, to: string) => `${path}?next=${encodeURIComponent(to)}`

/** The same for each reason: the page does not tell whether an account exists. */
const WRONG = 'E-mail address or password is wrong.'
const NEEDS_PASSKEY = 'The password alone is not enough for your account. Sign in with your passkey.'
const NEEDS_RESET =
  'The password alone is not enough for your account, and your passkey has ended: it may have been copied. Whoever runs this service can send you a link with which you begin anew.'
/** A form of before. */
const NO_PASSWORDS = { status: 403, text: 'Passwords do not sign in here any more.' }
const NO_PASSKEYS = { status: 403, text: 'Passkeys do not sign in here any more.' }

/** Where somebody gives what a session still needs. */
export const pathOfStep = (awaits: MissingStep) => (awaits === 'code' ? '/sign-in/code' : '/sign-in/second-factor')

export async function showSignIn(
  deps: PageDeps,
  ctx: Context,
  to: string,
  { email = '', failed, done }: { email?: string; failed?: Failed; done?: string } = {},
): Promise<void> {
  if (failed?.retryAfter !== undefined) ctx.set('Retry-After', String(failed.retryAfter))
  const { provider } = deps
  const said = html`${notice(done)}${alert(failed?.text)}${requestOf(failed)}`
  const body = provider?.isRequired
    ? html`${said}<p>People sign in to this service with ${provider.name}.</p>${providerLink(provider, to)}
<p class="below">No account? Whoever runs this service makes one.</p>`
    : html`${said}
<form method="post" action="/sign-in">
${formToken(deps, ctx)}${next(to)}
${field({ name: 'email', label: 'E-mail address', type: 'email', value: email, autocomplete: 'username webauthn', isFirst: email === '' })}
${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', isFirst: email !== '' })}
<button type="submit">Sign in</button>
</form>
${await passkeyButton(deps, ctx, { action: '/sign-in/passkey', page: withNext('/sign-in', to), to, text: 'Sign in with a passkey' })}
${provider && html`<p class="or">or</p>${providerLink(provider, to, { isPlain: true })}`}
<p class="below">No account, or the password is lost? Whoever runs this service sends you a link.</p>`
  showPage(ctx, { title: 'Sign in', body, scripts: [PASSKEY_SCRIPT] }, failed?.status)
}

export const requestOf = (failed: Failed | undefined): Html | false =>
  failed?.request !== undefined && html`<p class="small">Request ${failed.request}</p>`

export async function getSignIn(deps: PageDeps, ctx: Context): Promise<void> {
  const to = localPath(deps, ctx.query.next as string | undefined)
  if (await signedIn(deps, ctx)) return redirectTo(ctx, to)
  return showSignIn(deps, ctx, to, { ...(ctx.query.done === 'signed-out' && { done: 'You are signed out.' }) })
}

export async function postSignIn(deps: PageDeps, ctx: Context): Promise<void> {
  const form = await readForm(deps, ctx)
  const to = localPath(deps, form.get('next'))
  // The password is not even looked at.
  if (deps.provider?.isRequired) return showSignIn(deps, ctx, to, { failed: NO_PASSWORDS })
  const email = form.get('email')
  const outcome = await signIn(deps, { email, password: form.get('password') }, callerOf(ctx))
  if (outcome.is === 'needs_passkey')
    return showSignIn(deps, ctx, to, { email, failed: { status: 401, text: outcome.isEnded ? NEEDS_RESET : NEEDS_PASSKEY } })
  if (outcome.is !== 'signed_in') return showSignIn(deps, ctx, to, { email, failed: failedBy(outcome, WRONG) })
  await begin(deps, ctx, outcome)
  redirectTo(ctx, outcome.awaits === null ? to : withNext(pathOfStep(outcome.awaits), to))
}

export async function postPasskey(deps: PageDeps, ctx: Context): Promise<void> {
  const form = await readForm(deps, ctx)
  const to = localPath(deps, form.get('next'))
  if (deps.provider?.isRequired) return showSignIn(deps, ctx, to, { failed: NO_PASSKEYS })
  const answer = answerIn(deps, form)
  const outcome = answer ? await signInWithPasskey(deps, answer, callerOf(ctx)) : ({ is: 'wrong' } as const)
  if (outcome.is !== 'signed_in') return showSignIn(deps, ctx, to, { failed: failedPasskey(deps, outcome) })
  await begin(deps, ctx, outcome)
  redirectTo(ctx, to)
}

/** The session of before ends: a token that somebody has planted in the browser opens nothing. */
export async function begin(deps: SessionDeps, ctx: Context, { token }: { token: string }): Promise<void> {
  await endBefore(deps, ctx)
  setCookie(deps, ctx, token)
}

async function endBefore(deps: SessionDeps, ctx: Context): Promise<void> {
  const token = cookieOf(deps, ctx)
  if (token !== undefined) await endSessionOf(deps.pool, token)
}

async function pending(deps: SessionDeps, ctx: Context, awaits: 'code' | 'set_up') {
  const token = cookieOf(deps, ctx)
  const found = token === undefined ? null : await readPending(deps.checks, token)
  return found?.awaits === awaits ? found : null
}

function showCode(deps: SessionDeps, ctx: Context, to: string, failed?: Failed): void {
  if (failed?.retryAfter !== undefined) ctx.set('Retry-After', String(failed.retryAfter))
  const hint = 'Six digits of your app. If you have lost it, one of your recovery codes.'
  const body = html`${alert(failed?.text)}
<form method="post" action="/sign-in/code">
${formToken(deps, ctx)}${next(to)}
${field({ name: 'code', label: 'Code', autocomplete: 'one-time-code', hint, isCode: true, isFirst: true })}
<button type="submit">Continue</button>
</form>
<p class="below"><a href="${withNext('/sign-in', to)}">Sign in as somebody else</a></p>`
  showPage(ctx, { title: 'Second factor', body }, failed?.status)
}

export async function getCode(deps: SessionDeps, ctx: Context): Promise<void> {
  const to = localPath(deps, ctx.query.next as string | undefined)
  if (!(await pending(deps, ctx, 'code'))) return redirectTo(ctx, withNext('/sign-in', to))
  showCode(deps, ctx, to)
}

export async function postCode(deps: SessionDeps, ctx: Context): Promise<void> {
  const form = await readForm(deps, ctx)
  const to = localPath(deps, form.get('next'))
  const found = await pending(deps, ctx, 'code')
  const outcome = found ? await confirmCode(deps, found, form.get('code'), callerOf(ctx)) : ({ is: 'ended' } as const)
  if (outcome.is === 'ended') return redirectTo(ctx, withNext('/sign-in', to))
  if (outcome.is !== 'signed_in') return showCode(deps, ctx, to, failedBy(outcome, WRONG_CODE))
  setCookie(deps, ctx, outcome.token)
  redirectTo(ctx, to)
}

/** The second factor that is demanded before the first sign-in. */
export async function getSetUp(
  deps: SessionDeps,
  ctx: Context,
  to = localPath(deps, ctx.query.next as string | undefined),
  failed?: string,
): Promise<void> {
  const found = await pending(deps, ctx, 'set_up')
  const made = found && (await secondFactorInSetUp(deps.pool, deps.secrets, found.operator.id))
  if (!made) return redirectTo(ctx, withNext('/sign-in', to))
  const body = html`<p>This service asks for a second factor. Set one up to go on.</p>${alert(failed)}
${secretPicture(made)}
<form method="post" action="/sign-in/second-factor">
${formToken(deps, ctx)}${next(to)}
${field({ name: 'code', label: 'The code that the app shows', autocomplete: 'one-time-code', isCode: true })}
<button type="submit">Confirm</button>
</form>`
  showPage(ctx, { title: 'Second factor', body }, failed === undefined ? 200 : 422)
}

export async function postSetUp(deps: SessionDeps, ctx: Context): Promise<void> {
  const form = await readForm(deps, ctx)
  const to = localPath(deps, form.get('next'))
  const found = await pending(deps, ctx, 'set_up')
  if (!found) return redirectTo(ctx, withNext('/sign-in', to))
  const made = await confirmSetUp(deps, found, form.get('code'), callerOf(ctx).device)
  if (!made) return getSetUp(deps, ctx, to, WRONG_CODE)
  setCookie(deps, ctx, made.token)
  showPage(ctx, { title: 'Recovery codes', body: recoveryCodes(made.codes, to), signedInAs: found.operator.email })
}

export async function postSignOut(deps: SessionDeps, ctx: Context): Promise<void> {
  await readForm(deps, ctx)
  await endBefore(deps, ctx)
  setCookie(deps, ctx, null)
  redirectTo(ctx, '/sign-in?done=signed-out')
}

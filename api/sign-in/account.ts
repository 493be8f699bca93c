import { changePassword } from '../../domain/operators/change-password.ts'
import { type WaysIn, waysIn } from '../../domain/operators/identities.ts'
import { listPasskeys } from '../../domain/operators/passkeys/passkey.ts'
import { isPasswordEnough, type SecondFactor, secondFactorOf } from '../../domain/operators/second-factor.ts'
import { endSession, endSessions, type ListedSession, listSessions, type SignedIn } from '../../domain/operators/session.ts'
import type { Context } from '../context.ts'
import { deviceOf } from './device.ts'
import { failedBy, WRONG_CODE } from './failed.ts'
import { FormProblem, formToken, linkToken, readForm, type SentForm } from './form.ts'
import { type Html, html } from './html.ts'
import { faultsOf } from './join.ts'
import { alert, field, notice, showPage, when } from './page.ts'
import type { PageDeps } from './page-deps.ts'
import { passkeySite } from './passkey-form.ts'
import { passkeySection } from './passkey-list.ts'
import { providerLink } from './provider-link.ts'
import { askAgain, askToSignIn, callerOf, homeOf, redirectTo, setCookie, signedIn } from './session.ts'

export const ACCOUNT = '/console/account'

const DONE: Record<string, string> = {
  password: 'Your password is changed. All other sessions have ended.',
  session: 'The session has ended.',
  sessions: 'All other sessions have ended.',
  removed: 'The second factor is off.',
  passkey: 'The passkey is added. You can sign in with it from now on.',
  'passkey-removed':
    'The passkey is removed, and the sessions that it has opened have ended. Your device may still offer it: delete it there, too.',
  'passkey-needed':
    'A second factor is demanded of your account, and the password alone must not set one up: add another passkey, or set up an app, before you remove this one.',
  'passkey-last': 'Nothing else signs in to your account: add another passkey before you remove this one.',
  linked: 'Your account is connected: from now on you sign in there.',
}

type Shown = { faults?: Record<string, string>; failed?: string; status?: number }

/** What the account page does for the person who is signed in. */
export const withOperator =
  (show: (deps: PageDeps, ctx: Context, who: SignedIn) => Promise<void>) =>
  async (deps: PageDeps, ctx: Context): Promise<void> => {
    const who = await signedIn(deps, ctx)
    if (!who) return askToSignIn(ctx)
    await show(deps, ctx, who)
  }

/** The same for a form, which is read first. */
export const withForm = (take: (deps: PageDeps, ctx: Context, who: SignedIn, form: SentForm) => Promise<void>) =>
  async function taken(deps: PageDeps, ctx: Context): Promise<void> {
    const form = await readForm(deps, ctx)
    await withOperator((_deps, _ctx, who) => take(deps, ctx, who, form))(deps, ctx)
  }

const sessionLine = (deps: PageDeps, ctx: Context, { id, created_at, last_used_at, address, user_agent }: ListedSession, own: string) =>
  html`<li><div><p>${deviceOf(user_agent)}${id === own && html` <span class="here">this browser</span>`}</p>
<p class="small">${address ?? 'unknown address'}, signed in ${when(created_at)}, last used ${when(last_used_at)}</p></div>
${id !== own && html`<form method="post" action="${ACCOUNT}/sessions">${formToken(deps, ctx)}<button class="plain" name="session" value="${id}" aria-label="End the session of ${deviceOf(user_agent)}">End</button></form>`}</li>`

/** Single sign-on, where there is any. */
const providerSection = ({ provider }: PageDeps, { linked }: WaysIn, token: string | null): Html | null =>
  provider &&
  html`<section><h2>Single sign-on</h2>
${
  linked
    ? html`<p>You sign in with ${provider.name}${linked.email !== null && html` as ${linked.email}`}, since ${when(linked.at)}.</p>`
    : html`<p>Your account is not connected with ${provider.name} yet.</p>${providerLink(provider, ACCOUNT, { isPlain: true, purpose: 'link', token })}`
}</section>`

function factorSection({ isOn, isNeeded, codesLeft, passkeys, endedPasskeys }: SecondFactor, token: Html): Html {
  const ofPasskeys = passkeys > 0 ? 'Off: you sign in with a passkey.' : endedPasskeys > 0 && 'Off, and your passkey has ended.'
  const left = codesLeft === 1 ? '1 recovery code is' : `${codesLeft} recovery codes are`
  return html`<section><h2>Second factor</h2>
${
  isOn
    ? html`<p>On: a code of your app is asked for at sign-in. ${left} left.</p>
<div class="actions"><form method="post" action="${ACCOUNT}/recovery-codes">${token}<button class="plain">New recovery codes</button></form>
${!isNeeded && html`<form method="post" action="${ACCOUNT}/second-factor">${token}<button class="plain" name="step" value="remove">Turn off</button></form>`}</div>`
    : html`<p>${(isNeeded && ofPasskeys) || 'Off: whoever knows your password is you.'}</p>
<form method="post" action="${ACCOUNT}/second-factor">${token}<button name="step" value="begin">Set up</button></form>`
}</section>`
}

const passwordSection = ({ hasPassword }: WaysIn, { isOn }: SecondFactor, token: Html, { faults = {}, failed }: Shown): Html =>
  html`<section><h2>Password</h2>${alert(failed)}
${
  hasPassword
    ? html`<form method="post" action="${ACCOUNT}/password" class="short">${token}
${field({ name: 'current', label: 'Your password now', type: 'password', autocomplete: 'current-password', fault: faults.current })}
${isOn && field({ name: 'code', label: 'Code of your app', autocomplete: 'one-time-code', fault: faults.code, isCode: true })}
${field({ name: 'password', label: 'New password', type: 'password', autocomplete: 'new-password', hint: 'At least 12 characters.', fault: faults.password })}
${field({ name: 'repeated', label: 'The new one again', type: 'password', autocomplete: 'new-password', fault: faults.repeated })}
<button>Change the password</button></form>`
    : html`<p>You have none. Whoever runs this service can send you a link with which you choose one.</p>`
}</section>`

async function showAccount(deps: PageDeps, ctx: Context, who: SignedIn, shown: Shown = {}): Promise<void> {
  const { operator, session } = who
  const factor = await secondFactorOf(deps.pool, operator.id)
  const [passkeys, sessions] = [await listPasskeys(deps.pool, operator.id), await listSessions(deps.pool, operator.id)]
  const ways = await waysIn(deps.pool, operator.id, deps.provider?.issuer ?? null)
  // Where people sign in at the provider alone, a password opens nothing.
  const isByPassword = !deps.provider?.isRequired
  const [token, site] = [formToken(deps, ctx), passkeySite(deps)]
  const body = html`${notice(DONE[String(ctx.query.done ?? '')])}
<p>${operator.name}, ${operator.email}${operator.isOwner && ', owner of this installation'}</p>
${homeOf(deps) !== ACCOUNT && html`<p><a href="${homeOf(deps)}">To the console</a></p>`}
${providerSection(deps, ways, linkToken(deps, ctx))}${isByPassword && ways.hasPassword && factorSection(factor, token)}
${(site !== null || passkeys.length > 0) && passkeySection(passkeys, { path: `${ACCOUNT}/passkeys`, token, site })}
${isByPassword && passwordSection(ways, factor, token, shown)}
<section><h2>Sessions</h2><p>A session ends after 8 hours without use, and after 7 days in any case.</p>
<ul class="sessions">${sessions.map(one => sessionLine(deps, ctx, one, session))}</ul>
${sessions.length > 1 && html`<form method="post" action="${ACCOUNT}/sessions">${token}<button class="plain" name="session" value="others">End all others</button></form>`}</section>
<section><h2>Assistants</h2><p><a href="${ACCOUNT}/assistants">What you have allowed assistants</a></p></section>
<section><form method="post" action="/sign-out">${token}<button class="plain">Sign out</button></form></section>`
  showPage(ctx, { title: 'Your account', body, isWide: true, signedInAs: operator.email }, shown.status)
}

export const getAccount = withOperator(showAccount)

export const postPassword = withForm(async (deps, ctx, who, form) => {
  const refuse = (faults: Record<string, string>, status = 422) => showAccount(deps, ctx, who, { faults, status })
  // The form is not shown, and a password would make a session recent that the provider has opened.
  if (deps.provider?.isRequired) throw new FormProblem(403, 'Passwords do not count here any more.')
  // Where the password alone does not show that somebody is still there, it makes no session recent.
  const factor = await secondFactorOf(deps.pool, who.operator.id)
  if (!who.isRecent && !factor.isOn && !isPasswordEnough(factor)) return askAgain(ctx, ACCOUNT)
  const password = form.get('password')
  if (password !== form.get('repeated')) return refuse({ repeated: 'The two passwords differ.' })
  try {
    const given = { current: form.get('current'), code: form.get('code'), password }
    const outcome = await changePassword(deps, who, given, callerOf(ctx))
    if (outcome.is === 'ended') return askToSignIn(ctx)
    if (outcome.is === 'wrong_code') return refuse({ code: WRONG_CODE }, 401)
    if (outcome.is !== 'changed') {
      const { status, text, retryAfter } = failedBy(outcome, 'This is not your password.')
      if (retryAfter !== undefined) ctx.set('Retry-After', String(retryAfter))
      return refuse({ current: text }, status)
    }
    setCookie(deps, ctx, outcome.token)
    redirectTo(ctx, `${ACCOUNT}?done=password`)
  } catch (error) {
    return refuse(faultsOf(error))
  }
})

export const postSessions = withForm(async (deps, ctx, who, form) => {
  const session = form.get('session')
  if (session === 'others') await endSessions(deps.pool, who.operator.id, who.session)
  else await endSession(deps.pool, who.operator.id, session.replaceAll('\0', ''))
  redirectTo(ctx, `${ACCOUNT}?done=${session === 'others' ? 'sessions' : 'session'}`)
})

import { authenticateByPasskey } from '../../domain/operators/passkeys/sign-in.ts'
import { isPasswordEnough, secondFactorOf } from '../../domain/operators/second-factor.ts'
import { authenticateAgain } from '../../domain/operators/sign-in.ts'
import type { Context } from '../context.ts'
import { type Failed, failedBy, WRONG_CODE } from './failed.ts'
import { formToken, readForm } from './form.ts'
import { html } from './html.ts'
import { alert, field, showPage } from './page.ts'
import { answerIn, failedPasskey, PASSKEY_SCRIPT, passkeyButton } from './passkey-form.ts'
import { askToSignIn, callerOf, localPath, redirectTo, type SessionDeps, signedIn } from './session.ts'

const PATH = '/sign-in/again'

async function showAgain(deps: SessionDeps, ctx: Context, to: string, failed?: Failed): Promise<void> {
  const who = await signedIn(deps, ctx)
  if (!who) return askToSignIn(ctx)
  if (failed?.retryAfter !== undefined) ctx.set('Retry-After', String(failed.retryAfter))
  const factor = await secondFactorOf(deps.pool, who.operator.id)
  const hasTyped = factor.isOn || isPasswordEnough(factor)
  const typed = html`<form method="post" action="${PATH}">
${formToken(deps, ctx)}<input type="hidden" name="next" value="${to}">
${
  factor.isOn
    ? field({ name: 'code', label: 'Code', autocomplete: 'one-time-code', hint: 'Six digits of your app.', isCode: true, isFirst: true })
    : field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', isFirst: true })
}
<button type="submit">Continue</button>
</form>`
  const page = `${PATH}?next=${encodeURIComponent(to)}`
  const out = html`<form method="post" action="/sign-out">${formToken(deps, ctx)}<button type="submit">Sign out, and in again</button></form>`
  const button = { action: `${PATH}/passkey`, page, to, text: 'Use a passkey', isPlain: hasTyped, who }
  const body = html`<p>What comes next is sensitive, and you have signed in some time ago.</p>${alert(failed?.text)}
${hasTyped && typed}${factor.passkeys > 0 && (await passkeyButton(deps, ctx, button))}${!hasTyped && factor.passkeys === 0 && out}`
  showPage(ctx, { title: 'Is it still you?', body, signedInAs: who.operator.email, scripts: [PASSKEY_SCRIPT] }, failed?.status)
}

export const getAgain = (deps: SessionDeps, ctx: Context): Promise<void> =>
  showAgain(deps, ctx, localPath(ctx.query.next as string | undefined))

export async function postAgain(deps: SessionDeps, ctx: Context): Promise<void> {
  const form = await readForm(deps, ctx)
  const to = localPath(form.get('next'))
  const who = await signedIn(deps, ctx)
  if (!who) return askToSignIn(ctx)
  const { isOn } = await secondFactorOf(deps.pool, who.operator.id)
  const given = isOn ? { code: form.get('code') } : { password: form.get('password') }
  const outcome = await authenticateAgain(deps, who, given, callerOf(ctx).network)
  if (outcome.is === 'right') return redirectTo(ctx, to)
  return showAgain(deps, ctx, to, failedBy(outcome, isOn ? WRONG_CODE : 'The password is wrong.'))
}

export async function postAgainWithPasskey(deps: SessionDeps, ctx: Context): Promise<void> {
  const form = await readForm(deps, ctx)
  const to = localPath(form.get('next'))
  const who = await signedIn(deps, ctx)
  if (!who) return askToSignIn(ctx)
  const answer = answerIn(deps, form)
  const outcome = answer ? await authenticateByPasskey(deps, who, answer, callerOf(ctx).network) : ({ is: 'wrong' } as const)
  return outcome.is === 'right' ? redirectTo(ctx, to) : showAgain(deps, ctx, to, failedPasskey(deps, outcome))
}

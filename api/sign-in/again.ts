import { waysIn } from '../../domain/operators/identities.ts'
import { authenticateByPasskey } from '../../domain/operators/passkeys/sign-in.ts'
import { isPasswordEnough, secondFactorOf } from '../../domain/operators/second-factor.ts'
import type { SignedIn } from '../../domain/operators/session.ts'
import { authenticateAgain } from '../../domain/operators/sign-in.ts'
import type { Context } from '../context.ts'
import { type Failed, failedBy, WRONG_CODE } from './failed.ts'
import { formToken, readForm } from './form.ts'
import { html } from './html.ts'
import { alert, field, showPage } from './page.ts'
import type { PageDeps } from './page-deps.ts'
import { answerIn, failedPasskey, PASSKEY_SCRIPT, passkeyButton } from './passkey-form.ts'
import { providerLink } from './provider-link.ts'
import { askToSignIn, callerOf, localPath, redirectTo, signedIn } from './session.ts'
import { requestOf } from './sign-in.ts'

const PATH = '/sign-in/again'

/** Where people sign in at the provider alone, a session from there has no other way. One that a link of the command line has made has its password. */
const isProviderOnly = ({ provider }: PageDeps, who: SignedIn): boolean => who.isByProvider && (provider?.isRequired ?? false)

export async function showAgain(deps: PageDeps, ctx: Context, to: string, failed?: Failed): Promise<void> {
  const who = await signedIn(deps, ctx)
  if (!who) return askToSignIn(ctx)
  if (failed?.retryAfter !== undefined) ctx.set('Retry-After', String(failed.retryAfter))
  const { provider } = deps
  const factor = await secondFactorOf(deps.pool, who.operator.id)
  const ways = await waysIn(deps.pool, who.operator.id, provider?.issuer ?? null)
  const hasForm = (factor.isOn || (ways.hasPassword && isPasswordEnough(factor))) && !isProviderOnly(deps, who)
  const form = html`<form method="post" action="${PATH}">
${formToken(deps, ctx)}<input type="hidden" name="next" value="${to}">
${
  factor.isOn
    ? field({ name: 'code', label: 'Code', autocomplete: 'one-time-code', hint: 'Six digits of your app.', isCode: true, isFirst: true })
    : field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', isFirst: true })
}
<button type="submit">Continue</button>
</form>`
  const page = `${PATH}?next=${encodeURIComponent(to)}`
  const button = { action: `${PATH}/passkey`, page, to, text: 'Use a passkey', isPlain: hasForm, who }
  const passkey = factor.passkeys > 0 && (await passkeyButton(deps, ctx, button))
  const link = provider && ways.linked && providerLink(provider, to, { isPlain: hasForm, purpose: 'again' })
  const body = html`<p>What comes next is sensitive, and you have signed in some time ago.</p>${alert(failed?.text)}${requestOf(failed)}
${hasForm && form}${passkey}${(hasForm || passkey) && link && html`<p class="or">or</p>`}${link}
${!hasForm && !passkey && !link && html`<p>You have no password. Sign out, and sign in once more.</p>`}`
  showPage(ctx, { title: 'Is it still you?', body, signedInAs: who.operator.email, scripts: [PASSKEY_SCRIPT] }, failed?.status)
}

export const getAgain = (deps: PageDeps, ctx: Context): Promise<void> =>
  showAgain(deps, ctx, localPath(deps, ctx.query.next as string | undefined))

export async function postAgain(deps: PageDeps, ctx: Context): Promise<void> {
  const form = await readForm(deps, ctx)
  const to = localPath(deps, form.get('next'))
  const who = await signedIn(deps, ctx)
  if (!who) return askToSignIn(ctx)
  if (isProviderOnly(deps, who)) return showAgain(deps, ctx, to, { status: 403, text: 'Passwords do not count here any more.' })
  const { isOn } = await secondFactorOf(deps.pool, who.operator.id)
  const given = isOn ? { code: form.get('code') } : { password: form.get('password') }
  const outcome = await authenticateAgain(deps, who, given, callerOf(ctx).network)
  if (outcome.is === 'right') return redirectTo(ctx, to)
  return showAgain(deps, ctx, to, failedBy(outcome, isOn ? WRONG_CODE : 'The password is wrong.'))
}

export async function postAgainWithPasskey(deps: PageDeps, ctx: Context): Promise<void> {
  const form = await readForm(deps, ctx)
  const to = localPath(deps, form.get('next'))
  const who = await signedIn(deps, ctx)
  if (!who) return askToSignIn(ctx)
  const answer = answerIn(deps, form)
  const outcome = answer ? await authenticateByPasskey(deps, who, answer, callerOf(ctx).network) : ({ is: 'wrong' } as const)
  return outcome.is === 'right' ? redirectTo(ctx, to) : showAgain(deps, ctx, to, failedPasskey(deps, outcome))
}

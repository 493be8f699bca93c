import { waysIn } from '../../domain/operators/identities.ts'
import { secondFactorOf } from '../../domain/operators/second-factor.ts'
import type { SignedIn } from '../../domain/operators/session.ts'
import { authenticateAgain } from '../../domain/operators/sign-in.ts'
import type { Context } from '../context.ts'
import { formToken, readForm } from './form.ts'
import { html } from './html.ts'
import { alert, field, showPage } from './page.ts'
import type { PageDeps } from './page-deps.ts'
import { providerLink } from './provider-link.ts'
import { askToSignIn, callerOf, localPath, redirectTo, signedIn } from './session.ts'
import { type Failed, failedBy, requestOf, WRONG_CODE } from './sign-in.ts'

/** Where people sign in at the provider alone, a session from there has no other way. One that a link of the command line has made has its password. */
const isProviderOnly = ({ provider }: PageDeps, who: SignedIn): boolean => who.isByProvider && (provider?.isRequired ?? false)

export async function showAgain(deps: PageDeps, ctx: Context, to: string, failed?: Failed): Promise<void> {
  const who = await signedIn(deps, ctx)
  if (!who) return askToSignIn(ctx)
  if (failed?.retryAfter !== undefined) ctx.set('Retry-After', String(failed.retryAfter))
  const { provider } = deps
  const { isOn } = await secondFactorOf(deps.pool, who.operator.id)
  const ways = await waysIn(deps.pool, who.operator.id, provider?.issuer ?? null)
  const hasForm = (isOn || ways.hasPassword) && !isProviderOnly(deps, who)
  const form = html`<form method="post" action="/sign-in/again">
${formToken(deps, ctx)}<input type="hidden" name="next" value="${to}">
${
  isOn
    ? field({ name: 'code', label: 'Code', autocomplete: 'one-time-code', hint: 'Six digits of your app.', isCode: true, isFirst: true })
    : field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', isFirst: true })
}
<button type="submit">Continue</button>
</form>`
  const link = provider && ways.linked && providerLink(provider, to, { isPlain: hasForm, purpose: 'again' })
  const body = html`<p>What comes next is sensitive, and you have signed in some time ago.</p>${alert(failed?.text)}${requestOf(failed)}
${hasForm && form}${hasForm && link && html`<p class="or">or</p>`}${link}
${!hasForm && !link && html`<p>You have no password. Sign out, and sign in once more.</p>`}`
  showPage(ctx, { title: 'Is it still you?', body, signedInAs: who.operator.email }, failed?.status)
}

export const getAgain = (deps: PageDeps, ctx: Context): Promise<void> =>
  showAgain(deps, ctx, localPath(ctx.query.next as string | undefined))

export async function postAgain(deps: PageDeps, ctx: Context): Promise<void> {
  const form = await readForm(deps, ctx)
  const to = localPath(form.get('next'))
  const who = await signedIn(deps, ctx)
  if (!who) return askToSignIn(ctx)
  if (isProviderOnly(deps, who)) return showAgain(deps, ctx, to, { status: 403, text: 'Passwords do not count here any more.' })
  const { isOn } = await secondFactorOf(deps.pool, who.operator.id)
  const given = isOn ? { code: form.get('code') } : { password: form.get('password') }
  const outcome = await authenticateAgain(deps, who, given, callerOf(ctx).network)
  if (outcome.is === 'right') return redirectTo(ctx, to)
  return showAgain(deps, ctx, to, failedBy(outcome, isOn ? WRONG_CODE : 'The password is wrong.'))
}

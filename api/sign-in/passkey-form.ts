import { type RefusedPasskey, requestOptions } from '../../domain/operators/passkeys/sign-in.ts'
import { type Site, siteOf } from '../../domain/operators/passkeys/site.ts'
import type { SignedIn } from '../../domain/operators/session.ts'
import type { Context } from '../context.ts'
import { type Failed, failedBy } from './failed.ts'
import { formCookie, formToken, type SentForm } from './form.ts'
import { type Html, html } from './html.ts'
import type { PageDeps } from './page-deps.ts'

/** The file of web/sign-in that shows the form and fills it in. */
export const PASSKEY_SCRIPT = 'passkey'

/** `page`: where the form comes anew. `fields`: what stands above the button. */
type Form = { kind: 'create' | 'get'; action: string; page: string; options: object; site: Site; fields: Html; button: Html }

export const passkeyForm = (deps: PageDeps, ctx: Context, { kind, action, page, options, site, fields, button }: Form): Html =>
  html`<form method="post" action="${action}" class="passkey" data-passkey="${kind}" data-page="${page}" data-origin="${site.origin}" data-options="${JSON.stringify(options)}" hidden>
${formToken(deps, ctx)}<input type="hidden" name="answer">${fields}
${button}
<p class="fault" role="alert" hidden></p></form>`

/** Null: the public address has no passkeys, or people sign in at the provider alone. */
export const passkeySite = ({ provider, publicUrl }: PageDeps): Site | null => (provider?.isRequired ? null : siteOf(publicUrl))

/** The site whose passkeys this service takes, and the browser that is asked for one; null where there are none. */
export function askedFor(deps: PageDeps, ctx: Context): { site: Site; browser: string } | null {
  const site = passkeySite(deps)
  return site && { site, browser: formCookie(deps, ctx) }
}

/** What the script has put into the form. */
export function answerIn(deps: PageDeps, form: SentForm): { answer: string; site: Site; browser: string } | null {
  const site = passkeySite(deps)
  return site && { answer: form.get('answer'), site, browser: form.cookie }
}

type Button = { action: string; page: string; to: string; text: string; isPlain?: boolean; who?: SignedIn }

/** A form that is one button. Null where there are no passkeys. */
export async function passkeyButton(
  deps: PageDeps,
  ctx: Context,
  { action, page, to, text, isPlain = true, who }: Button,
): Promise<Html | null> {
  const asked = askedFor(deps, ctx)
  if (!asked) return null
  const options = await requestOptions(deps.pool, deps.secrets, { ...asked, ...(who && { who }) })
  const [fields, button] = [
    html`<input type="hidden" name="next" value="${to}">`,
    html`<button class="${isPlain ? 'plain' : ''}">${text}</button>`,
  ]
  return passkeyForm(deps, ctx, { kind: 'get', action, page, options, site: asked.site, fields, button })
}

export const LATE = 'The page was open for too long. Try again.'
const WRONG_PASSKEY = 'This passkey is not known here, or it was removed.'
const COPIED = 'This passkey has ended: it may have been copied. Sign in another way, and remove it from your account.'

/** What the page says; the log says that there may be a copy of a passkey. */
export function failedPasskey({ log }: PageDeps, refused: RefusedPasskey): Failed {
  if (refused.is === 'late') return { status: 422, text: LATE }
  if (refused.is !== 'copied') return failedBy(refused, WRONG_PASSKEY)
  const { operator, passkey } = refused
  log.warn({ operator, passkey }, 'a passkey has ended: its counter went back, so there may be a copy of it')
  return { status: 401, text: COPIED }
}

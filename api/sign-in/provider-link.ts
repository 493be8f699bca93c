import type { SignInProvider } from '../../domain/operators/provider.ts'
import { type Html, html } from './html.ts'

export const PROVIDER = '/sign-in/oidc'

/** What a trip to the provider is for. */
export type Purpose = 'sign_in' | 'again' | 'link'

/** `token`: of the session, for a link that changes the account. */
type LinkOptions = { isPlain?: boolean; purpose?: Purpose; token?: string | null }

/** Leads to the provider. A link and no form: a form may lead to this service alone, also by redirects of the provider to other hosts. */
export const providerLink = (
  { name }: SignInProvider,
  to: string,
  { isPlain = false, purpose = 'sign_in', token }: LinkOptions = {},
): Html => {
  const text = purpose === 'link' ? `Connect with ${name}` : purpose === 'again' ? `Continue with ${name}` : `Sign in with ${name}`
  const query = new URLSearchParams({ ...(purpose !== 'sign_in' && { for: purpose }), ...(token && { token }), next: to })
  return html`<p><a class="button${isPlain && ' plain'}" href="${PROVIDER}?${query.toString()}">${text}</a></p>`
}

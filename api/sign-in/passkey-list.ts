import type { ListedPasskey } from '../../domain/operators/passkeys/passkey.ts'
import { type Html, html } from './html.ts'
import { when } from './page.ts'

const passkeyLine = ({ id, name, created_at, last_used_at, is_ended }: ListedPasskey, token: Html, path: string): Html =>
  html`<li><div><p>${name}${is_ended && html` <span class="ended">ended</span>`}</p>
<p class="small">created ${when(created_at)}, ${last_used_at === null ? 'not used yet' : html`last used ${when(last_used_at)}`}</p>
${is_ended && html`<p class="small">Its count of signatures went back, so somebody may have copied it. It signs in nowhere any more.</p>`}</div>
<form method="post" action="${path}/remove">${token}<button class="plain" name="passkey" value="${id}" aria-label="Remove the passkey ${name}">Remove</button></form></li>`

/** `path`: of the page that adds one. `token`: of the forms. */
export const passkeySection = (passkeys: readonly ListedPasskey[], { path, token }: { path: string; token: Html }): Html =>
  html`<section><h2>Passkeys</h2>
<p>Sign in with your finger, your face or the PIN of a device, without password and code.</p>
${passkeys.length > 0 && html`<ul class="sessions">${passkeys.map(one => passkeyLine(one, token, path))}</ul>`}
<p><a class="button${passkeys.length > 0 && ' plain'}" href="${path}">Add a passkey</a></p></section>`

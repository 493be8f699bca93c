import type { ListedPasskey } from '../../domain/operators/passkeys/passkey.ts'
import type { Site } from '../../domain/operators/passkeys/site.ts'
import { type Html, html } from './html.ts'
import { when } from './page.ts'

/** `path`: of the page that adds one. `token`: of the forms. `site`: whose passkeys sign in; null: none do. */
type Section = { path: string; token: Html; site: Site | null }

const passkeyLine = ({ id, name, rp_id, created_at, last_used_at, is_ended }: ListedPasskey, { path, token, site }: Section): Html =>
  html`<li><div><p>${name}${is_ended && html` <span class="ended">ended</span>`}</p>
<p class="small">created ${when(created_at)}, ${last_used_at === null ? 'not used yet' : html`last used ${when(last_used_at)}`}</p>
${is_ended && html`<p class="small">Its count of signatures went back, so somebody may have copied it. It signs in nowhere any more.</p>`}
${!is_ended && site && rp_id !== site.id && html`<p class="small">Made for ${rp_id}: it does not sign in here.</p>`}</div>
<form method="post" action="${path}/remove">${token}<button class="plain" name="passkey" value="${id}" aria-label="Remove the passkey ${name}">Remove</button></form></li>`

export const passkeySection = (passkeys: readonly ListedPasskey[], section: Section): Html =>
  html`<section><h2>Passkeys</h2>
<p>${section.site ? 'Sign in with your finger, your face or the PIN of a device, without password and code.' : 'Passkeys do not sign in here any more.'}</p>
${passkeys.length > 0 && html`<ul class="sessions">${passkeys.map(one => passkeyLine(one, section))}</ul>`}
${section.site && html`<p><a class="button${passkeys.length > 0 && ' plain'}" href="${section.path}">Add a passkey</a></p>`}</section>`

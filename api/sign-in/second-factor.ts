import { renderSVG } from 'uqr'
import { Html, html } from './html.ts'

/** The secret as a picture for the camera of an app, and as text for typing. */
export function secretPicture({ uri, secret }: { uri: string; secret: string }): Html {
  // Only the address is in the picture, and uqr draws it as squares.
  const picture = new Html(
    renderSVG(uri, { border: 2 }).replace('<svg ', '<svg role="img" aria-label="QR code with the secret for your app" '),
  )
  return html`<div class="secret"><div class="qr">${picture}</div>
<p>Scan the picture with an authenticator app. If you cannot, type this secret there:</p>
<p><code>${secret.replaceAll(/.{4}(?=.)/g, '$& ')}</code></p></div>`
}

/** The codes in clear, for the only time. */
export const recoveryCodes = (codes: readonly string[], to: string): Html =>
  html`<p>The second factor is on. Each of these codes opens your account once, in the place of a code of the app. Keep them where you find them without your telephone; they are not shown again.</p>
<ul class="codes">${codes.map(code => html`<li><code>${code}</code></li>`)}</ul>
<p><a class="button" href="${to}">I have kept them</a></p>`

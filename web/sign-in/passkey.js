// Passkeys on the pages of signing in: a form with data-passkey asks the browser for one and sends its answer. What the pages show without this script
// is hidden by it, and the other way round.
const bytesOf = text => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), sign => sign.charCodeAt(0))
const textOf = buffer =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
const descriptors = list => list.map(one => ({ ...one, id: bytesOf(one.id) }))

const form = document.querySelector('form[data-passkey]')
const options = form && JSON.parse(form.dataset.options)
const opened = Date.now()
/** Milliseconds in which the challenge of the page is still good. */
const left = () => options.timeout - (Date.now() - opened)
/** Of the conditional request, which waits until somebody chooses a passkey in the field of the address. */
const waiting = new AbortController()
/** For the person to answer. */
const MARGIN_MS = 60_000

async function create() {
  const publicKey = {
    ...options,
    timeout: left(),
    challenge: bytesOf(options.challenge),
    user: { ...options.user, id: bytesOf(options.user.id) },
    excludeCredentials: descriptors(options.excludeCredentials),
  }
  const { id, response } = await navigator.credentials.create({ publicKey })
  const transports = response.getTransports?.() ?? []
  return { id, clientData: textOf(response.clientDataJSON), attestation: textOf(response.attestationObject), transports }
}

async function get(more = {}) {
  const publicKey = {
    ...options,
    timeout: left(),
    challenge: bytesOf(options.challenge),
    allowCredentials: descriptors(options.allowCredentials),
  }
  const { id, response } = await navigator.credentials.get({ publicKey, ...more })
  return {
    id,
    clientData: textOf(response.clientDataJSON),
    authenticatorData: textOf(response.authenticatorData),
    signature: textOf(response.signature),
    userHandle: response.userHandle?.byteLength ? textOf(response.userHandle) : null,
  }
}

const SAYS = {
  InvalidStateError: 'This device has a passkey for your account already.',
  NotAllowedError: 'No passkey was given. You can try again.',
}

function send(answer) {
  form.elements.answer.value = JSON.stringify(answer)
  form.submit()
}

/** The challenge is good for so long. The page comes anew with another one, and asks at once. */
function openAnew() {
  const page = new URL(form.dataset.page, location.origin)
  page.searchParams.set('with', 'passkey')
  if (form.elements.name) page.searchParams.set('name', form.elements.name.value)
  location.assign(page)
}

let isAsking = false
async function submitted(event) {
  event.preventDefault()
  if (isAsking) return
  if (left() < MARGIN_MS) return openAnew()
  const fault = form.querySelector('[role=alert]')
  fault.hidden = true
  waiting.abort()
  isAsking = true
  try {
    send(await (form.dataset.passkey === 'create' ? create() : get()))
  } catch (error) {
    fault.textContent = SAYS[error.name] ?? 'The browser could not use a passkey here.'
    fault.hidden = false
  }
  isAsking = false
}

/** Browsers show passkeys in the list below the field, where there are any. */
async function offerInField() {
  if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return
  setTimeout(() => waiting.abort(), left() - MARGIN_MS)
  get({ mediation: 'conditional', signal: waiting.signal }).then(send, () => {})
}

// Without TLS browsers have no passkeys, and the passkeys of this service belong to its public address.
if (form && window.PublicKeyCredential && location.origin === form.dataset.origin) {
  for (const other of document.querySelectorAll('[data-without-passkey]')) other.hidden = true
  form.hidden = false
  form.addEventListener('submit', submitted)
  const { pathname, searchParams } = new URL(location.href)
  if (searchParams.get('with') === 'passkey') form.requestSubmit()
  // Not where a passkey was refused just now: a device that answers by itself would answer again and again.
  else if (document.querySelector('input[autocomplete~=webauthn]') && pathname !== new URL(form.action).pathname) offerInField()
}

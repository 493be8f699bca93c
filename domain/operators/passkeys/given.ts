/** The answer of a browser to `navigator.credentials.get`; bytes are in base64url. */
export type GivenSignature = { id: string; clientData: string; authenticatorData: string; signature: string; userHandle: string | null }
/** To `navigator.credentials.create`. */
export type GivenKey = { id: string; clientData: string; attestation: string; transports: string[] }

const isBytes = (value: unknown): value is string => typeof value === 'string' && /^[\w-]+$/.test(value)
/** In the words of the specification: `usb`, `smart-card`. */
const isTransport = (value: unknown): value is string => typeof value === 'string' && /^[a-z-]{1,20}$/.test(value)
const MOST_TRANSPORTS = 10

/** The object that the script of the page has put into the form; null for anything else. */
function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

export function signatureIn(text: string): GivenSignature | null {
  const { id, clientData, authenticatorData, signature, userHandle = null } = objectIn(text) ?? {}
  if (!isBytes(id) || !isBytes(clientData) || !isBytes(authenticatorData) || !isBytes(signature)) return null
  return userHandle === null || isBytes(userHandle) ? { id, clientData, authenticatorData, signature, userHandle } : null
}

export function keyIn(text: string): GivenKey | null {
  const { id, clientData, attestation, transports } = objectIn(text) ?? {}
  if (!isBytes(id) || !isBytes(clientData) || !isBytes(attestation)) return null
  const known = Array.isArray(transports) ? transports.filter(isTransport).slice(0, MOST_TRANSPORTS) : []
  return { id, clientData, attestation, transports: known }
}

/** The challenge that a browser has signed; null where a page of another site holds ours in a frame, and for what is no data of a browser. */
export function challengeIn({ clientData }: { clientData: string }): string | null {
  const { challenge, crossOrigin } = objectIn(Buffer.from(clientData, 'base64url').toString('utf8')) ?? {}
  return isBytes(challenge) && crossOrigin !== true ? challenge : null
}

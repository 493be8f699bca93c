const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])
const MOST_CHARACTERS = 2_000
/** Schemes without a dot of programs that are in wide use. */
const KNOWN_SCHEMES = new Set(['cursor:'])

const isLoopback = ({ protocol, hostname }: URL): boolean => protocol === 'http:' && LOOPBACK.has(hostname)

/** Whether codes may be sent there: over TLS, to this machine, or to a program under its own scheme. */
export function isRedirectUri(text: unknown): text is string {
  // Printable ASCII: nothing else may stand in a Location header.
  if (typeof text !== 'string' || text.length > MOST_CHARACTERS || !/^[!-~]+$/.test(text) || /["<>\\^`{|}#]/.test(text)) return false
  if (!URL.canParse(text)) return false
  // `https:host` is a relative address where this service is under https.
  if (/^https?:(?!\/\/)/.test(text)) return false
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') return false
  // The host stands in the policy of the page of consent.
  if (url.protocol === 'https:') return /^([a-z0-9._-]+|\[[0-9a-f:.]+\])$/.test(url.hostname)
  if (url.protocol === 'http:') return isLoopback(url)
  return /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/.test(url.protocol) || KNOWN_SCHEMES.has(url.protocol)
}

/** On this machine the port is not compared, because a program takes one that is free: RFC 8252, section 7.3. */
export function isRegistered(given: string, registered: readonly string[]): boolean {
  if (registered.includes(given)) return true
  if (!isRedirectUri(given) || !isLoopback(new URL(given))) return false
  const portless = (text: string) => {
    const url = new URL(text)
    url.port = ''
    return url.href
  }
  return registered.some(text => isLoopback(new URL(text)) && portless(text) === portless(given))
}

/** Where the form of the consent page leads, as a source of a Content-Security-Policy. */
export function formOriginOf(redirectUri: string): string {
  const url = new URL(redirectUri)
  // A source cannot name an address of IPv6.
  if (url.hostname === '[::1]') return 'http:'
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.origin : url.protocol
}

/** Whether codes go to a program on the device of the operator, as which any program there can pose. */
export const isOnDevice = (redirectUri: string): boolean => {
  const url = new URL(redirectUri)
  return url.protocol !== 'https:' || LOOPBACK.has(url.hostname)
}

export const receiverOf = (redirectUri: string): string => {
  const url = new URL(redirectUri)
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.host : `a program on this device (${url.protocol}//)`
}

export const withParameters = (redirectUri: string, parameters: Record<string, string | undefined>): string => {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${new URLSearchParams(given)}`
}

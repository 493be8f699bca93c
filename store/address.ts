/** Where a server listens. `host`: a name, an address, or a folder of a socket. */
export type Host = { host: string; port: number }

/**
 * An address of a database. `url`: with the first host alone and without what belongs to several hosts, as the driver reads it. `hosts`:
 * among them the one that accepts writes is looked for; empty where the address names one host and does not ask for that.
 */
export type Address = { url: string; hosts: Host[] }

const FORM = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/
const HOST = /^(\[[0-9a-fA-F:.]+\]|[^\s:[\]/@]+)(?::(\d{1,5}))?$/
const LAST_PORT = 65_535
const PORT = 5432
/** All connections write sooner or later, so that only these values make sense. */
const WRITABLE = ['read-write', 'primary']
const SESSION = 'target_session_attrs'

/**
 * Reads an address in the form of libpq, which may name several hosts: `postgres://user:password@h1:5432,h2:5433/name?target_session_attrs=read-write`.
 * `refuse`: throws the line for the operator, to which the caller adds the name of the variable. A line never repeats a host: a password with a
 * character that is not escaped is read as a part of one.
 */
export function readAddress(given: string, refuse: (line: string) => never): Address {
  const [, protocol, login = '', list = '', path = '', query] =
    FORM.exec(given) ?? refuse('must be an address that begins with postgres://')
  const parameters = query === undefined || query === '' ? [] : query.split('&')
  const session = parameters.find(one => one.startsWith(`${SESSION}=`))?.slice(SESSION.length + 1)
  if (session !== undefined && session !== 'any' && !WRITABLE.includes(session))
    refuse(`: ${SESSION}=${session} must be read-write, because the service writes`)
  const names = list.split(',')
  const isSought = names.length > 1 || (session !== undefined && WRITABLE.includes(session))
  const hosts = isSought
    ? names.map((name, index) => readHost(name, PORT) ?? refuse(`: host ${index + 1} must be a host, or host:port`))
    : []
  // The driver takes the certificates of the runtime unless it is given others, and would look for a file of that name.
  const kept = parameters.filter(one => !one.startsWith(`${SESSION}=`) && one !== 'sslrootcert=system')
  const url = `${protocol}${login}${names[0]}${path}${kept.length > 0 ? `?${kept.join('&')}` : ''}`
  return URL.canParse(url) ? { url, hosts } : refuse('must be an address such as postgres://user:password@host:5432/name')
}

/** Reads `host:port`, the host as in an address: `[::1]`, or escaped as `%2Fvar%2Frun`. `port`: where the text has none. Undefined: it is neither. */
export function readHost(text: string, port?: number): Host | undefined {
  const [, escaped, given] = HOST.exec(text) ?? []
  const read = { host: escaped && unescaped(escaped), port: given === undefined ? port : Number(given) }
  if (read.host === undefined || read.port === undefined || read.port < 1 || read.port > LAST_PORT) return undefined
  return { host: read.host.replace(/^\[|\]$/g, ''), port: read.port }
}

function unescaped(host: string): string | undefined {
  try {
    return decodeURIComponent(host)
  } catch {
    return undefined
  }
}

/** The name of the database in an address, as it is written there. */
export const databaseNameIn = (address: string): string => {
  const { url } = readAddress(address, line => {
    throw new TypeError(line)
  })
  return new URL(url).pathname
}

/** Where a Postgres listens. `host`: a name, an address, or a folder of a socket. */
export type Host = { host: string; port: number }

/**
 * An address of a database. `url`: with the first host alone and without what belongs to several hosts, as the driver reads it. `hosts`:
 * among them the one that accepts writes is looked for; empty where the address names one host and does not ask for that.
 */
export type Address = { url: string; hosts: Host[] }

const FORM = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/
const HOST = /^(\[[0-9a-fA-F:.]+\]|[^\s:[\]]+)(?::(\d{1,5}))?$/
const PORT = 5432
/** All connections write sooner or later, so that only these values make sense. */
const WRITABLE = ['read-write', 'primary']
const SESSION = 'target_session_attrs'

/**
 * Reads an address in the form of libpq, which may name several hosts: `postgres://user:password@h1:5432,h2:5433/name?target_session_attrs=read-write`.
 * `refuse`: throws the line for the operator, to which the caller adds the name of the variable.
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
  const hosts = isSought ? names.map(name => hostOf(name) ?? refuse(`: "${name}" must be a host, or host:port`)) : []
  // The driver takes the certificates of the runtime unless it is given others, and would look for a file of that name.
  const kept = parameters.filter(one => !one.startsWith(`${SESSION}=`) && one !== 'sslrootcert=system')
  const url = `${protocol}${login}${names[0]}${path}${kept.length > 0 ? `?${kept.join('&')}` : ''}`
  return URL.canParse(url) ? { url, hosts } : refuse('must be an address such as postgres://user:password@host:5432/name')
}

function hostOf(name: string): Host | undefined {
  const [, host, port] = HOST.exec(name) ?? []
  return host === undefined ? undefined : { host: host.replace(/^\[|\]$/g, ''), port: port === undefined ? PORT : Number(port) }
}

/** The name of the database in an address, as it is written there. */
export const databaseNameIn = (address: string): string => {
  const { url } = readAddress(address, line => {
    throw new TypeError(line)
  })
  return new URL(url).pathname
}

import { readAddress } from '../store/address.ts'

/** `databaseUrl`: Postgres itself, or what gives each connection a session of its own. `poolerUrl`: for the requests of the API. */
export type DatabaseAddresses = { databaseUrl: string | undefined; poolerUrl: string | undefined }

/** `text`: the value of a variable. `refuse`: throws the line for the operator. */
export function databaseAddresses(text: (name: string) => string | undefined, refuse: (line: string) => never): DatabaseAddresses {
  const address = (name: string) => {
    const given = text(name)
    if (given !== undefined) readAddress(given, line => refuse(`${name}${line.startsWith(':') ? '' : ' '}${line}`))
    return given
  }
  const [url, direct] = [address('DATABASE_URL'), address('DATABASE_DIRECT_URL')]
  if (direct === undefined) return { databaseUrl: url, poolerUrl: undefined }
  if (url === undefined) refuse('DATABASE_DIRECT_URL needs DATABASE_URL, the address of the pooler')
  return { databaseUrl: direct, poolerUrl: url }
}

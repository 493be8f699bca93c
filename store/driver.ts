import pg from 'pg'
import { type Host, readAddress } from './address.ts'
import { type PrimarySearch, primarySearch } from './primary.ts'

/** Options of a connection or pool of `pg`: how the database of an address is reached. */
export type Driver = { connectionString: string; Client: typeof pg.Client }

/** A server that says so was the primary before, or has been made read-only. */
const READ_ONLY = '25006'

/** By address: what one pool has learned of a promotion, all pools of the process know. */
const searches = new Map<string, PrimarySearch>()

function searchOf(address: string, hosts: Host[], url: string): PrimarySearch {
  const search = searches.get(address) ?? primarySearch(hosts, { connectionString: url })
  searches.set(address, search)
  return search
}

type Done = (error: Error | null) => void

/**
 * The driver for an address. Of several hosts each new connection gets the one that accepts writes. A connection over which a server has
 * refused a write ends: the next one finds the primary, by the list of hosts or by whatever stands between.
 */
export function driverFor(address: string): Driver {
  const { url, hosts } = readAddress(address, line => {
    throw new TypeError(`the address of the database ${line}`)
  })
  const search = hosts.length > 0 ? searchOf(address, hosts, url) : undefined

  class ToPrimary extends pg.Client {
    constructor(config?: string | pg.ClientConfig) {
      super(config)
      // Between the connection and the listeners of its user an error would end the process.
      this.on('error', () => {})
      this.connection.on('errorMessage', ({ code }: { code?: string }) => {
        // After the caller has the error.
        if (code === READ_ONLY) setImmediate(() => this.connection.stream.destroy())
      })
    }

    override connect(): Promise<this>
    override connect(callback: Done): void
    override connect(callback?: Done): Promise<this> | undefined {
      if (!callback) return (search ? this.#toPrimary(search) : super.connect()) as Promise<this>
      if (search) this.#toPrimary(search).then(() => callback(null), callback)
      else super.connect(callback)
      return undefined
    }

    async #toPrimary({ find, forget }: NonNullable<typeof search>): Promise<pg.Client> {
      Object.assign(this, await find())
      // The pool may have ended meanwhile.
      if ((this as { _ending?: boolean })._ending) throw new Error('Connection terminated')
      return super.connect().catch(error => {
        forget()
        throw error
      })
    }
  }
  return { connectionString: url, Client: ToPrimary }
}

import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { isPrivateAddress } from './address.ts'

export type Guard = { allowPrivateNetwork: boolean }

/** Its code is what an attempt shows as `error`. */
export class AddressRefused extends Error {
  code = 'address_refused'
}

type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void

/**
 * Resolves like the system and hands out only addresses that may be connected to. It stands in the connection itself, not before it:
 * a name that is asked once for a check and once for the connection can give two answers. A host that is an address is never looked
 * up: ask `refuseLiteral` first.
 */
export const guardedLookup =
  ({ allowPrivateNetwork }: Guard, resolve: Resolve = lookup): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error) return callback(error, '', 0)
      const allowed = allowPrivateNetwork ? found : found.filter(({ address }) => !isPrivateAddress(address))
      const [first] = allowed
      if (!first) return callback(new AddressRefused(`${hostname} resolves to a private address`), '', 0)
      if (options.all) callback(null, allowed)
      else callback(null, first.address, first.family)
    })
  }

/** Throws `AddressRefused` for a host that is itself a private address (`127.0.0.1`, `[::1]`). */
export function refuseLiteral(host: string, { allowPrivateNetwork }: Guard): void {
  const address = host.replace(/^\[(.*)\]$/, '$1')
  if (!allowPrivateNetwork && isIP(address) && isPrivateAddress(address)) throw new AddressRefused(`${host} is a private address`)
}

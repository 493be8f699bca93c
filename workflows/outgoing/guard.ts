import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns'
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { isPrivateAddress } from './private-address.ts'

export type Guard = { allowPrivateNetwork: boolean }

/** The code is what an attempt shows as `error`. */
export class AddressRefused extends Error {
  code = 'address_refused'
}

type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void

/**
 * Resolves like the system and returns only addresses that may be connected to. The check is part of the connection and not a step before
 * it: a name that is resolved once for a check and once for the connection can give two answers. A host that is an address is never
 * resolved: call `refuseLiteral` first.
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

/**
 * Opens a TCP connection to an address that the guard allows. Rejects with the connection's error or with the signal's reason. The signal
 * also closes the connection later, as long as it is open.
 */
export async function guardedSocket(host: string, port: number, guard: Guard, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted()
  refuseLiteral(host, guard)
  const socket = connect({ host, port, lookup: guardedLookup(guard) })
  const end = () => socket.destroy()
  signal.addEventListener('abort', end, { once: true })
  socket.once('close', () => signal.removeEventListener('abort', end))
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve).once('error', reject)
    socket.once('close', () => reject(signal.aborted ? signal.reason : new Error('closed before it was open')))
  })
  return socket
}

import { isIP, isIPv6 } from 'node:net'

const MAPPED_V4 = /^::ffff:(?=\d+\.)/i

/** An address as it is usually written: IPv4 without the prefix that a socket of both versions gives it, IPv6 without the zone of this machine. */
export const plainAddress = (address: string): string => address.replace(MAPPED_V4, '').replace(/%.*$/, '')

/** The address in what a proxy writes: some add a port, and brackets around IPv6. '' for what is no address. */
export function addressIn(said: string): string {
  const [, bare] = /^(?:\[([^\]]*)\](?::\d+)?)$/.exec(said) ?? /^(\d+(?:\.\d+){3}):\d+$/.exec(said) ?? [said, said]
  const plain = plainAddress(bare!)
  return isIP(plain) === 0 ? '' : plain
}

/** An IPv4 address, or the first 64 bits of an IPv6 address: a host chooses the others itself. */
export function networkPrefix(address: string): string {
  const plain = address.replace(MAPPED_V4, '')
  if (!isIPv6(plain)) return plain
  const [left = '', right] = plain.split('::')
  const groups = left === '' ? [] : left.split(':')
  const tail = right === undefined || right === '' ? 0 : right.split(':').length
  if (right !== undefined) while (groups.length + tail < 8 && groups.length < 4) groups.push('0')
  return groups.slice(0, 4).join(':')
}

import { isIPv4, isIPv6 } from 'node:net'

/** Networks outside the public internet: private, loopback, link-local, multicast or reserved (IANA special-purpose registries). */
const NOT_PUBLIC_V4: [base: string, bits: number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]
const NOT_PUBLIC_V6: [base: string, bits: number][] = [
  // Local NAT64 and Teredo lead to IPv4 addresses that are unknown here.
  ['64:ff9b:1::', 48],
  ['2001::', 32],
  ['100::', 64],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
]
/** Prefixes that are followed by an embedded IPv4 address: such an address is as public as the embedded one. */
const CARRIES_V4: [base: string, bits: number][] = [
  ['::', 96],
  ['::ffff:0:0', 96],
  ['::ffff:0:0:0', 96],
  ['64:ff9b::', 96],
  ['2002::', 16],
]

/** Whether a connection is refused unless the operator allows private networks. Text that is no IP address is refused, too. */
export function isPrivateAddress(address: string): boolean {
  const plain = address.replace(/%.*$/, '')
  if (isIPv4(plain)) return isPrivateV4(v4(plain))
  if (!isIPv6(plain)) return true
  const value = v6(plain)
  if (value <= 1n || NOT_PUBLIC_V6.some(([base, bits]) => begins(value, v6(base), bits, 128))) return true
  const carrier = CARRIES_V4.find(([base, bits]) => begins(value, v6(base), bits, 128))
  return carrier !== undefined && isPrivateV4((value >> BigInt(128 - carrier[1] - 32)) & 0xffff_ffffn)
}

const isPrivateV4 = (value: bigint) => NOT_PUBLIC_V4.some(([base, bits]) => begins(value, v4(base), bits, 32))

const begins = (value: bigint, base: bigint, bits: number, width: number) => value >> BigInt(width - bits) === base >> BigInt(width - bits)

const v4 = (text: string) => text.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n)

function v6(text: string): bigint {
  const tail = /(\d+\.\d+\.\d+\.\d+)$/.exec(text)?.[1]
  const hex = tail ? text.slice(0, -tail.length) + [v4(tail) >> 16n, v4(tail) & 0xffffn].map(part => part.toString(16)).join(':') : text
  const [left, right] = hex.split('::').map(side => (side === '' ? [] : side.split(':'))) as [string[], string[] | undefined]
  const groups = right ? [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right] : left
  return groups.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n)
}

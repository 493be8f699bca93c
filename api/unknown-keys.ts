import { isIPv6 } from 'node:net'
import { Problem } from './errors.ts'

/** A refused key is not looked up again for so long: a key that is created meanwhile works a second later. */
const REMEMBERED_MS = 1_000
/** One address may have so many unknown keys looked up in this time. */
const MOST_OF_AN_ADDRESS = 100
const PERIOD_MS = 10_000
/** Entries of each map. Beyond them the oldest one is forgotten. */
const MOST_ENTRIES = 10_000

const MAPPED_V4 = /^::ffff:(?=\d+\.)/i

/** An IPv4 address, or the first 64 bits of an IPv6 address: a host chooses the others itself. */
function networkOf(address: string): string {
  const plain = address.replace(MAPPED_V4, '')
  if (!isIPv6(plain)) return plain
  const [left = '', right] = plain.split('::')
  const groups = left === '' ? [] : left.split(':')
  if (right !== undefined) {
    const tail = right === '' ? 0 : right.split(':').length
    while (groups.length + tail < 8 && groups.length < 4) groups.push('0')
  }
  return groups.slice(0, 4).join(':')
}

function remember<T>(entries: Map<string, T>, key: string, value: T): void {
  entries.delete(key)
  if (entries.size >= MOST_ENTRIES) entries.delete(entries.keys().next().value!)
  entries.set(key, value)
}

/** Refused keys, and how many of them each address has tried: the number of lookups that callers without a key can cause is bounded. */
export function unknownKeys(clock: () => number = () => performance.now()) {
  const refusedUntil = new Map<string, number>()
  const tried = new Map<string, { count: number; until: number }>()
  return {
    /** Whether the key was refused a moment ago. */
    isRefused: (token: string): boolean => (refusedUntil.get(token) ?? 0) > clock(),
    /** Counts a lookup for the address. Throws 429 when the address has tried too many unknown keys. */
    count(address: string): void {
      const network = networkOf(address)
      const now = clock()
      const of = tried.get(network)
      if (!of || of.until <= now) {
        remember(tried, network, { count: 1, until: now + PERIOD_MS })
        return
      }
      if (of.count < MOST_OF_AN_ADDRESS) {
        of.count++
        return
      }
      const seconds = Math.ceil((of.until - now) / 1000)
      throw new Problem('rate_limit_exceeded', `too many unknown keys from this address; try again in ${seconds} s`, {
        headers: { 'Retry-After': String(seconds) },
      })
    },
    /** The lookup has found the key: it does not count. */
    uncount(address: string): void {
      const of = tried.get(networkOf(address))
      if (of) of.count--
    },
    /** The lookup has refused the key. */
    refuse: (token: string): void => remember(refusedUntil, token, clock() + REMEMBERED_MS),
  }
}

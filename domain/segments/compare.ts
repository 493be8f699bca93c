// Comparisons that must come out the same as Postgres makes them.
import type { Comparator } from './condition.ts'

const DECIMAL = /^-?[0-9]+(\.[0-9]+)?$/

/** Decimal notation, of any length. The same expression stands in SQL. */
export const isDecimal = (text: string): boolean => DECIMAL.test(text)
export const DECIMAL_SQL = DECIMAL.source

const scaled = (text: string, places: number): bigint => {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.')
  const value = BigInt(whole + fraction.padEnd(places, '0'))
  return text.startsWith('-') ? -value : value
}
const placesOf = (text: string) => text.split('.')[1]?.length ?? 0

/** Exact, whatever the length: a number would round after 15 digits. Negative, 0 or positive, like all comparisons here. */
export function compareDecimals(a: string, b: string): number {
  const places = Math.max(placesOf(a), placesOf(b))
  const [left, right] = [scaled(a, places), scaled(b, places)]
  return left < right ? -1 : left > right ? 1 : 0
}

/** By code point: the order of UTF-8 bytes, which is that of `collate "C"`. UTF-16 would sort 😀 before ﬀ. */
export const compareText = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** The leading digits of each part, without zeros at the end: 1.2.0 is 1.2. */
export function versionParts(version: string): string[] {
  const parts = version.split('.').map(part => /^[0-9]*/.exec(part)![0].replace(/^0+/, '') || '0')
  while (parts.at(-1) === '0') parts.pop()
  return parts
}

export function compareVersions(a: string, b: string): number {
  const [left, right] = [versionParts(a), versionParts(b)]
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const order = compareDecimals(left[i] ?? '0', right[i] ?? '0')
    if (order !== 0) return order
  }
  return 0
}

// Without locale: "ß" stays, whatever the server's language.
export const upper = (text: string): string => text.replace(/[a-z]/g, letter => letter.toUpperCase())

/** What an order means for a comparator that asks for one. */
export function accepts(comparator: Comparator, order: number): boolean {
  switch (comparator) {
    case 'eq':
      return order === 0
    case 'ne':
      return order !== 0
    case 'gt':
      return order > 0
    case 'gte':
      return order >= 0
    case 'lt':
      return order < 0
    case 'lte':
      return order <= 0
    case 'contains':
    case 'not_contains':
      return false
    default:
      return comparator satisfies never
  }
}

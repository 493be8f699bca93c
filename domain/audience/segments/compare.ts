// Comparisons whose results must equal those of Postgres: segments are evaluated for one user in memory and for sets of users in SQL.
import { placesOf, scaled } from '../../kernel/decimal.ts'
import type { Comparator } from './condition.ts'

const DECIMAL = /^-?[0-9]+(\.[0-9]+)?$/

/** Whether the text is a number in decimal notation, of any length. The SQL of segments uses the same expression. */
export const isDecimal = (text: string): boolean => DECIMAL.test(text)
export const DECIMAL_SQL = DECIMAL.source

/**
 * Exact for texts of any length: a JavaScript number would round after 15 digits. Returns a negative number, 0 or a positive number, like
 * all comparisons of this file.
 */
export function compareDecimals(a: string, b: string): number {
  const places = Math.max(placesOf(a), placesOf(b))
  const [left, right] = [scaled(a, places), scaled(b, places)]
  return left < right ? -1 : left > right ? 1 : 0
}

/** By code point: the order of UTF-8 bytes, which is the order of `collate "C"`. The order of UTF-16 would place 😀 before ﬀ. */
export const compareText = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** The leading digits of each part of a version, without zeros at the end: 1.2.0 equals 1.2. */
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

// Independent of the locale: "ß" stays as it is, as in Postgres under `collate "C"`.
export const upper = (text: string): string => text.replace(/[a-z]/g, letter => letter.toUpperCase())

/** Whether a comparator of order accepts the result of a comparison. */
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

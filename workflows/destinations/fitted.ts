import type { Value } from './facts.ts'

export type Limits = {
  /** Fields. */
  most?: number
  /** A name in the vendor's alphabet. */
  name?: (name: string) => string
  /** Characters of a text. */
  characters?: number
  /** Of the whole, as JSON in UTF-8. */
  bytes?: number
}

/**
 * As much as the vendor takes, from the front: a vendor that finds too much refuses or forgets the whole event, and the facts that
 * count (money, ids) come first.
 */
export function fitted(fields: Record<string, Value>, limits: Limits): Record<string, Value> {
  const { most = Infinity, name = same => same, characters = Infinity, bytes = Infinity } = limits
  const fitting = new Map<string, Value>()
  let size = 2
  for (const [given, value] of Object.entries(fields)) {
    const key = name(given)
    if (fitting.has(key)) continue
    const cut = typeof value === 'string' ? value.slice(0, characters).toWellFormed() : value
    // The quotes are in; a colon and a comma come on top.
    size += Buffer.byteLength(JSON.stringify(key) + JSON.stringify(cut)) + 2
    if (size > bytes || fitting.size === most) break
    fitting.set(key, cut)
  }
  return Object.fromEntries(fitting)
}

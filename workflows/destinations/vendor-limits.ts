import type { FactValue } from './event-facts.ts'

export type Limits = {
  /** Number of fields. */
  most?: number
  /** Converts a name to the vendor's alphabet. */
  name?: (name: string) => string
  /** Characters of a text. */
  characters?: number
  /** Bytes of all fields together, as JSON in UTF-8. */
  bytes?: number
}

/**
 * Keeps as many fields as the vendor accepts, from the first on. A vendor that receives too much refuses or drops the whole event, and the
 * important facts (money, ids) come first.
 */
export function fitToLimits(fields: Record<string, FactValue>, limits: Limits): Record<string, FactValue> {
  const { most = Infinity, name = same => same, characters = Infinity, bytes = Infinity } = limits
  const fitting = new Map<string, FactValue>()
  let size = 2
  for (const [given, value] of Object.entries(fields)) {
    const key = name(given)
    if (fitting.has(key)) continue
    const cut = typeof value === 'string' ? value.slice(0, characters).toWellFormed() : value
    // JSON.stringify counts the quotes; a colon and a comma are added.
    size += Buffer.byteLength(JSON.stringify(key) + JSON.stringify(cut)) + 2
    if (size > bytes || fitting.size === most) break
    fitting.set(key, cut)
  }
  return Object.fromEntries(fitting)
}

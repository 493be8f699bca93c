import { type ProceedsRates, proceedsRates, SHARE_PLACES } from '../domain/events/money.ts'
import { PLATFORMS, type Platform } from '../domain/kernel/platform.ts'

export const PROCEEDS_RATES_RULE = `must be JSON such as {"iOS":0.85}: for ${PLATFORMS.join(', ')} the share of every amount, from 0 to 1 with at most ${SHARE_PLACES} decimals`

const SHARE = new RegExp(`^(0(\\.\\d{1,${SHARE_PLACES}})?|1)$`)

/** The shares of all platforms, with those that the JSON text replaces; undefined: the text is not valid. */
export function parseProceedsRates(text: string): ProceedsRates | undefined {
  const given = objectIn(text)
  if (given === undefined) return undefined
  const replaced: Partial<Record<Platform, string>> = {}
  for (const [name, value] of Object.entries(given)) {
    const platform = PLATFORMS.find(known => known === name)
    // A number's own text is the shortest one, so 0.85 has two decimals and nothing of its binary form.
    if (platform === undefined || typeof value !== 'number' || !SHARE.test(String(value))) return undefined
    replaced[platform] = String(value)
  }
  return proceedsRates(replaced)
}

function objectIn(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

import { networkPrefix } from './network-prefix.ts'

const PER_MINUTE = 10
const MINUTE_MS = 60_000
const MAX_CALLERS = 10_000

/**
 * Counts wrong passwords of a caller's address: after ten within a minute, `wait` answers the seconds until the minute is over, and nothing
 * is compared. `clock`: monotonic, in milliseconds.
 */
export function wrongPasswords(clock: () => number = () => performance.now()) {
  const callers = new Map<string, { count: number; until: number }>()
  return {
    wait(address: string): number | null {
      const caller = callers.get(networkPrefix(address))
      if (!caller || caller.count < PER_MINUTE || caller.until <= clock()) return null
      return Math.ceil((caller.until - clock()) / 1000)
    },
    count(address: string): void {
      const key = networkPrefix(address)
      const caller = callers.get(key)
      if (caller && caller.until > clock()) {
        caller.count++
        return
      }
      callers.delete(key)
      if (callers.size >= MAX_CALLERS) callers.delete(callers.keys().next().value!)
      callers.set(key, { count: 1, until: clock() + MINUTE_MS })
    },
  }
}

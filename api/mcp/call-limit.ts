import { Problem } from '../errors.ts'

const MOST_CALLS = 120
const PERIOD_MS = 60_000
/** Grants that are remembered. Beyond them the one that was not seen for the longest time is forgotten. */
const MOST_GRANTS = 10_000

/** Counts the calls of each grant in this process. Throws 429 for the call with which it would have more than 120 within any 60 s. `clock`: in milliseconds. */
export function callLimit(clock: () => number = () => performance.now()): (grant: string, calls: number) => void {
  const made = new Map<string, number[]>()
  return (grant, calls) => {
    const now = clock()
    const times = (made.get(grant) ?? []).filter(time => time > now - PERIOD_MS)
    made.delete(grant)
    if (made.size >= MOST_GRANTS) made.delete(made.keys().next().value!)
    made.set(grant, times)
    const excess = times.length + calls - MOST_CALLS
    if (excess > 0) {
      const free = times[Math.min(excess, times.length) - 1] ?? now
      const retryAfter = Math.max(1, Math.ceil((free + PERIOD_MS - now) / 1000))
      throw new Problem('rate_limit_exceeded', `more than ${MOST_CALLS} calls a minute; try again in ${retryAfter} s`, {
        headers: { 'Retry-After': String(retryAfter) },
      })
    }
    for (let call = 0; call < calls; call++) times.push(now)
  }
}

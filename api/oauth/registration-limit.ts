import { OAuthProblem } from './answer.ts'

const PER_NETWORK = 10
/** Of all networks together: whoever has very many addresses fills no table. */
const IN_ALL = 1_000
const HOUR_MS = 3_600_000

/** Counts registrations in this process, by hours. Throws 429 for the eleventh of a network. `clock`: in milliseconds. */
export function registrationLimit(clock: () => number = () => performance.now()): (network: string) => void {
  let ends = clock() + HOUR_MS
  let all = 0
  const made = new Map<string, number>()
  return network => {
    const now = clock()
    if (now >= ends) {
      ends = now + HOUR_MS
      all = 0
      made.clear()
    }
    const count = made.get(network) ?? 0
    if (count >= PER_NETWORK || all >= IN_ALL)
      throw new OAuthProblem('temporarily_unavailable', `more than ${PER_NETWORK} registrations an hour`, {
        status: 429,
        headers: { 'Retry-After': String(Math.ceil((ends - now) / 1000)) },
      })
    made.set(network, count + 1)
    all += 1
  }
}

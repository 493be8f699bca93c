import { Problem } from './errors.ts'
import { networkPrefix } from './network-prefix.ts'

/** A refused key is not looked up again for so long: a key that is created meanwhile works a second later. */
const REMEMBERED_MS = 1_000
/** One address may have so many unknown keys looked up in this time. */
const MOST_OF_AN_ADDRESS = 100
const PERIOD_MS = 10_000
/** Entries of each map. Beyond them the oldest one is forgotten. */
const MOST_ENTRIES = 10_000

/** `refused`: unknown keys of this period; `pending`: lookups under way; `waiting`: callers that go on when one of them has ended. */
type Tries = { refused: number; pending: number; until: number; waiting: (() => void)[] }

function remember<T>(entries: Map<string, T>, key: string, value: T): void {
  entries.delete(key)
  if (entries.size >= MOST_ENTRIES) entries.delete(entries.keys().next().value!)
  entries.set(key, value)
}

const room = ({ refused, pending }: Tries) => MOST_OF_AN_ADDRESS - refused - pending

/** Refused keys, and how many of them each address has tried: the number of lookups that callers without a key can cause is bounded. */
export function unknownKeys(clock: () => number = () => performance.now()) {
  const refusedUntil = new Map<string, number>()
  const tried = new Map<string, Tries>()

  function triesOf(address: string): Tries {
    const network = networkPrefix(address)
    const known = tried.get(network)
    if (known && known.until > clock()) return known
    const tries = known ?? { refused: 0, pending: 0, until: 0, waiting: [] }
    remember(tried, network, Object.assign(tries, { refused: 0, until: clock() + PERIOD_MS }))
    return tries
  }

  /** Waits while the lookups under way could use up what the address may try: most of them may find their keys. */
  async function startLookUp(address: string): Promise<Tries> {
    for (;;) {
      const tries = triesOf(address)
      if (tries.refused >= MOST_OF_AN_ADDRESS) {
        const seconds = Math.ceil((tries.until - clock()) / 1000)
        throw new Problem('rate_limit_exceeded', `too many unknown keys from this address; try again in ${seconds} s`, {
          headers: { 'Retry-After': String(seconds) },
        })
      }
      if (room(tries) > 0) {
        tries.pending++
        return tries
      }
      await new Promise<void>(resolve => tries.waiting.push(resolve))
    }
  }

  return {
    /** Whether the key was refused a moment ago. */
    isRefused: (token: string): boolean => (refusedUntil.get(token) ?? 0) > clock(),
    /** Looks a key up for the address. Only a key that is not found counts. Throws 429 when the address has tried too many of them. */
    async lookUp<T>(address: string, find: () => Promise<T | null>): Promise<T | null> {
      const tries = await startLookUp(address)
      try {
        const found = await find()
        if (found === null) tries.refused++
        return found
      } finally {
        tries.pending--
        const isOver = tries.refused >= MOST_OF_AN_ADDRESS
        for (const goOn of tries.waiting.splice(0, isOver ? Number.POSITIVE_INFINITY : room(tries))) goOn()
      }
    },
    /** The lookup has refused the key. */
    refuse: (token: string): void => remember(refusedUntil, token, clock() + REMEMBERED_MS),
  }
}

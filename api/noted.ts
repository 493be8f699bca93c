import { batchingByKey } from '../store/batching.ts'

/**
 * Notes what was used, and nothing waits for it: while one statement is under way, the next one gathers all uses that come meanwhile, each of one
 * key. A use that could not be noted is noted with the next one of the same caller.
 */
export function noted<Use>(write: (uses: readonly Use[]) => Promise<void>, keyOf: (use: Use) => number): (use: Use) => void {
  const add = batchingByKey<Use, null>(
    use => String(keyOf(use)),
    async uses => {
      await write(uses)
      return uses.map(() => null)
    },
    { inFlight: 1, name: 'note uses' },
  )
  return use => void add(use).catch(() => {})
}

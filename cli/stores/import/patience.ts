import { setTimeout as sleep } from 'node:timers/promises'
import { OVER_QUOTA } from '../../../workflows/stores/quota.ts'
import type { ClaimAnswer } from '../../../workflows/stores/store-client.ts'
import { CliError } from '../../failure.ts'

export type PatienceOptions = {
  store: string
  signal: AbortSignal
  /** Gets the reason for a wait. */
  onWait: (why: string) => void
  /** How long a store that gives no answer is asked again, in milliseconds. */
  patience?: number
  clock?: () => number
  pause?: (ms: number, signal: AbortSignal) => Promise<void>
}

type Decided = Exclude<ClaimAnswer, { is: 'later' }>

const PATIENCE_MS = 60_000
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 8_000

/**
 * Asks until the store has decided. It waits for the budget and for as long as the store asks to; a store that fails is asked again for a minute.
 * Throws CliError when it has not answered by then.
 */
export async function confirmPatiently(attempt: () => Promise<ClaimAnswer>, options: PatienceOptions): Promise<Decided> {
  const { store, signal, onWait, patience = PATIENCE_MS, clock = () => performance.now() } = options
  const pause = options.pause ?? ((ms, ends) => sleep(ms, undefined, { signal: ends }))
  let failingSince: number | undefined
  for (let wait = FIRST_PAUSE_MS; ; ) {
    signal.throwIfAborted()
    const answer = await attempt()
    if (answer.is !== 'later') return answer
    const { why, afterMs } = answer
    if (afterMs !== null) {
      if (why !== OVER_QUOTA) onWait(`${store} asks to wait: ${Math.ceil(afterMs / 1000)} s`)
      await pause(afterMs, signal)
      continue
    }
    failingSince ??= clock()
    const failingFor = clock() - failingSince
    if (failingFor + wait > patience) throw new CliError(`${store} has not answered for ${Math.round(failingFor / 1000)} s (${why})`)
    if (wait === FIRST_PAUSE_MS) onWait(`${store} does not answer (${why}): trying again for ${Math.round(patience / 1000)} s`)
    await pause(wait, signal)
    wait = Math.min(wait * 2, LONGEST_PAUSE_MS)
  }
}

import { setTimeout as pause } from 'node:timers/promises'
import { classifyFailure } from '../store/failures.ts'
import type { UntilRecorded } from '../workflows/engine/handler.ts'
import type { Held } from './leases.ts'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1_000
/** The limit for time-outs and internal errors of the server: one record may be their cause, and would be tried for ever. */
const TRIES_OF_A_RECORD = 5

const mayBeTheRecord = (error: unknown): boolean =>
  classifyFailure(error) === 'timeout' || String((error as { code?: unknown } | null)?.code ?? '').startsWith('XX')

/**
 * Tries until the database answers. The caller handles the answer: `LeaseLost`, or an error that no repeat resolves. A process that stops
 * gives up when it can wait no longer.
 */
export const untilRecorded =
  (lease: Pick<Held, 'keep'>, halt: AbortSignal): UntilRecorded =>
  async write => {
    for (let tries = 1, pauseMs = FIRST_PAUSE_MS; ; tries++) {
      try {
        return await write(tries > 1)
      } catch (error) {
        const failure = classifyFailure(error)
        const isPassing = failure === 'unavailable' || failure === 'timeout'
        if (!isPassing || halt.aborted || (tries >= TRIES_OF_A_RECORD && mayBeTheRecord(error))) throw error
        lease.keep()
        await pause(pauseMs, undefined, { signal: halt }).catch(() => {
          throw error
        })
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
      }
    }
  }

import { runEffect } from '../engine/attempt.ts'
import { messageOf } from '../engine/policy.ts'
import { notSent } from './classify-response.ts'
import type { Sent } from './destination.ts'

/**
 * Sends once under a time limit. An unexpected error is a failed attempt like any other, so that the event is sent again. Throws only
 * where one of `ends` has aborted: the result of the attempt is unknown then.
 */
export async function sendWithin(
  limitMs: number,
  ends: readonly AbortSignal[],
  send: (signal: AbortSignal) => Promise<Sent>,
): Promise<Sent> {
  const ran = await runEffect(limitMs, ends, send)
  if (ran.is === 'done') return ran.result
  if (ends.some(({ aborted }) => aborted)) throw ran.error
  return { ...notSent('retry', ran.isOvertime ? 'timeout' : `internal: ${messageOf(ran.error)}`), durationMs: ran.durationMs }
}

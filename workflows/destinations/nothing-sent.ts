import type { Sent } from './destination.ts'

/** An attempt that ended before anything went out. */
export const nothingSent = (outcome: 'retry' | 'reject', error: string): Sent => ({
  outcome,
  httpStatus: null,
  error,
  response: null,
  retryAfterSeconds: null,
  durationMs: 0,
})

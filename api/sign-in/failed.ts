import type { Wrong } from '../../domain/operators/sign-in.ts'

export const WRONG_CODE = 'This code is wrong, or it was used already.'
export const lockedFor = (seconds: number) => {
  const minutes = Math.ceil(seconds / 60)
  return `Too many attempts. Try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`
}

/** Why a page is shown once more. `request`: its id, for whoever looks into the log. */
export type Failed = { status: number; text: string; retryAfter?: number; request?: string }

export const failedBy = (outcome: Wrong, wrong: string): Failed =>
  outcome.is === 'locked' ? { status: 429, text: lockedFor(outcome.seconds), retryAfter: outcome.seconds } : { status: 401, text: wrong }

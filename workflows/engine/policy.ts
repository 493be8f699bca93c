const CHARACTERS = 1000

/** The message of an error. A library may throw errors without a message: then the names of the classes are the only information. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.message !== '') return error.message
  const { cause } = error
  return cause instanceof Error ? `${error.constructor.name} (${cause.constructor.name})` : error.constructor.name
}

/**
 * The message of an error in the form in which it is recorded; it is never empty. `doing`: the action that failed, for an error that does
 * not name it. A message from outside may contain a NUL or half of a surrogate pair, and the cut may split a pair; Postgres accepts none of
 * them in JSON. An attempt that cannot be recorded would be repeated for ever.
 */
export function messageOf(error: unknown, doing?: string): string {
  const isMute = error instanceof Error && error.message === ''
  const text = isMute && doing !== undefined ? `${textOf(error)} while ${doing}` : textOf(error)
  return text.replaceAll('\0', '').slice(0, CHARACTERS).toWellFormed()
}

/** How an effect is repeated: waits in seconds before the 2nd, 3rd … attempt; one more attempt than waits. */
export type RetryPolicy = { waits: readonly number[]; attemptLimitMs: number }

/** `delivery`: requests to the servers of others. `step`: every other effect. */
export type Policies = { delivery: RetryPolicy; step: RetryPolicy }

/** Waits vary by ±10 %, so that jobs that failed together are not repeated together. */
const JITTER = 0.1

export const POLICIES: Policies = {
  delivery: { waits: [60, 300, 1800, 7200, 21_600, 43_200], attemptLimitMs: 10_000 },
  step: { waits: [10, 60, 300, 1800], attemptLimitMs: 30_000 },
}

/** Seconds until the attempt after `failed` failed ones; null when there is none left. `random` in [0, 1). */
export function waitAfter(policy: RetryPolicy, failed: number, random: number = Math.random()): number | null {
  const wait = policy.waits[failed - 1]
  return wait === undefined ? null : wait * (1 - JITTER + 2 * JITTER * random)
}

/** Thrown by a step whose failure no repeat will correct. */
export class StopRetrying extends Error {}

/** Thrown by a step that failed after a part of its work. Later attempts get `partialResult` (JSON) in their scope and do not repeat that part. */
export class PartlyDone extends Error {
  readonly partialResult: unknown
  constructor(message: string, partialResult: unknown) {
    super(message)
    this.partialResult = partialResult
  }
}

const LONGEST_WAIT_SECONDS = 86_400

/** Thrown by a step that failed and whose receiver named the time of the next attempt: replaces the policy's wait, within 1 s to 24 h. */
export class RetryAt extends Error {
  readonly seconds: number

  constructor(message: string, seconds: number) {
    super(message)
    this.seconds = Math.min(LONGEST_WAIT_SECONDS, Math.max(1, seconds))
  }
}

import type { AutomationData, Frequency } from './definition.ts'

/** Why an event starts no run, in the order of the checks. */
export const SKIP_REASONS = [
  'no_user',
  'automation_paused',
  'platform_mismatch',
  'segment_mismatch',
  'already_running',
  'frequency_capped',
] as const
export type SkipReason = (typeof SKIP_REASONS)[number]

/** Whether a run of this automation and user is unfinished, and how many have started in the window that ends with the event. */
export type History = { isRunning: boolean; started: number }

/** `history` costs a query: it is called only when the other rules allow the run. */
export type StartFacts = { user: string | null; platform: string | null; isPaused: boolean; isMember: boolean; history: () => History }

type Rules = Pick<AutomationData, 'platform' | 'segments' | 'reentry' | 'frequency'>

/** The first rule that forbids a run; null: it starts. */
export function skipReason({ platform, segments, reentry, frequency }: Rules, facts: StartFacts): SkipReason | null {
  if (facts.user === null) return 'no_user'
  if (facts.isPaused) return 'automation_paused'
  if (platform !== null && facts.platform !== platform) return 'platform_mismatch'
  if (segments !== null && !facts.isMember) return 'segment_mismatch'
  if (reentry && !frequency) return null
  const { isRunning, started } = facts.history()
  if (!reentry && isRunning) return 'already_running'
  return frequency && started >= frequency.max_runs_per_user ? 'frequency_capped' : null
}

const HOUR = 3_600_000_000
/** Length of a window in µs. */
export const FREQUENCY_WINDOW: Record<Frequency['per'], number> = {
  hour: HOUR,
  day: 24 * HOUR,
  week: 7 * 24 * HOUR,
  month: 30 * 24 * HOUR,
  lifetime: Number.POSITIVE_INFINITY,
}

/** The latest starts of one user, as many as a frequency counts. Times in µs. */
export class Starts {
  readonly #frequency: Frequency
  #times: number[] = []

  constructor(frequency: Frequency) {
    this.#frequency = frequency
  }

  add(at: number): void {
    this.#times.push(at)
    // More starts than are allowed need not be counted.
    if (this.#times.length > this.#frequency.max_runs_per_user) this.#times.shift()
  }

  /** The number of starts in the window that ends at `at`, at most the number that is allowed. */
  within(at: number): number {
    const from = at - FREQUENCY_WINDOW[this.#frequency.per]
    return this.#times.filter(time => time > from).length
  }
}

import type { Link } from './chain.ts'
import type { Period } from './period.ts'

export type State = 'trial' | 'paid' | 'grace' | 'retry' | 'ended'
/** What a subscription is from each instant on, in order of time; before the first it is none. */
export type Timeline = { at: number; state: State }[]

/**
 * The state of a subscription at every instant: in a period, or in the gap before a joined one outside billing retry, what the period
 * is; in billing retry grace, then retry; otherwise ended.
 */
export function timelineOf<P extends Period>(links: Link<P>[]): Timeline {
  const timeline: Timeline = []
  for (const [i, { period, ends, retryUntil }] of links.entries()) {
    const next = links[i + 1]
    const until = next?.period.begins ?? Number.POSITIVE_INFINITY
    const add = (at: number, state: State) => {
      if (at < until) timeline.push({ at, state })
    }
    timeline.push({ at: period.begins, state: period.trial ? 'trial' : 'paid' })
    const joined = next?.joined ?? false
    const failed = Math.max(ends, period.retryAt ?? ends)
    if (retryUntil === null || retryUntil <= failed) {
      if (!joined) add(ends, 'ended')
      continue
    }
    const grace = period.graceUntil ?? failed
    if (!joined && failed > ends) add(ends, 'ended')
    if (grace > failed) add(failed, 'grace')
    if (retryUntil > grace) add(Math.max(failed, grace), 'retry')
    if (!joined) add(retryUntil, 'ended')
  }
  return timeline
}

export const stateAt = (timeline: Timeline, t: number): State | null => timeline.findLast(({ at }) => at <= t)?.state ?? null

/** The next instant after `t` at which the state may be another; null when none comes. */
export const nextChange = (timeline: Timeline, t: number): number | null =>
  timeline.find(({ at }) => at > t && Number.isFinite(at))?.at ?? null

import { type Link, stateUntil } from './access-periods.ts'
import type { Period } from './period.ts'

export type TimelineState = 'trial' | 'paid' | 'grace' | 'retry' | 'ended'
/**
 * The states of a subscription, each from `at` on, in order of time. Before the first there is no subscription. `endedAt`: the end that a
 * state `ended` states later, because until `at` a renewal could be reported.
 */
export type Timeline = { at: number; state: TimelineState; endedAt?: number }[]

/**
 * The state of a subscription at every instant. In a period: `trial` or `paid`, also in the gap before a joined period when there is no
 * billing retry, and as long as a renewal may still be reported. In billing retry: `grace`, then `retry`. Otherwise: `ended`. `from`, `to`:
 * only the states of the links with these indexes.
 */
export function subscriptionTimeline<P extends Period>(links: Link<P>[], from = 0, to = links.length): Timeline {
  const timeline: Timeline = []
  for (let i = from; i < to; i++) {
    const link = links[i]!
    const { period, ends, retryUntil } = link
    const next = links[i + 1]
    const until = next?.period.begins ?? Number.POSITIVE_INFINITY
    const add = (at: number, state: TimelineState, endedAt?: number) => {
      if (at < until) timeline.push({ at, state, ...(endedAt !== undefined && endedAt !== at && { endedAt }) })
    }
    timeline.push({ at: period.begins, state: period.trial ? 'trial' : 'paid' })
    const joined = next?.joined ?? false
    const failed = Math.max(ends, period.retryAt ?? ends)
    if (retryUntil === null || retryUntil <= failed) {
      if (!joined) add(stateUntil(link), 'ended', ends)
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

export const stateAt = (timeline: Timeline, t: number): TimelineState | null => timeline.findLast(({ at }) => at <= t)?.state ?? null

/** The next instant after `t` at which the state may change; null when there is none. */
export const nextChange = (timeline: Timeline, t: number): number | null =>
  timeline.find(({ at }) => at > t && Number.isFinite(at))?.at ?? null

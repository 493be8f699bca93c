import { isUnanswered, type Link, runEnd, runsOf } from './access-periods.ts'
import { DAY_MS, JOIN_MS, offCauseOf, type Period, renewsAt, WORD_MS } from './period.ts'

/**
 * An event that passing time causes: of a period, and for an end of its whole run. It is due at `due` (ms) and carries the time `at`; null:
 * the time when a process emits it. `isByCharge`: the run ended because its charge failed, and not by the customer.
 */
type TimedEvent<P extends Period> = {
  slug: 'trial_still_active' | 'trial_expired' | 'subscription_expired'
  period: P
  run: Link<P>[]
  due: number
  at: number | null
  isByCharge: boolean
}

const STILL_ACTIVE_MS = 2 * DAY_MS

/** The store gave up, or never charged again, and the customer had not switched auto-renew off. */
const endedByCharge = <P extends Period>({ period, ends, retryUntil }: Link<P>): boolean =>
  (period.refundedAt === null || period.refundedAt > ends) &&
  (offCauseOf(period) === 'billing_error' || (period.autoRenewing && retryUntil !== null))

/**
 * The past and future events that passing time causes in a lineage, from its present facts. `trial_still_active`: two days after the
 * trial's start, with auto-renew on. The end of a run: due at once when auto-renew is off, after billing retry, or when the customer bought anew, else
 * 24 h later, because a renewal may still join the run. A connected store answers first: the event waits for a statement about the
 * end, at most 72 h.
 */
export function timedEventsOf<P extends Period>(links: Link<P>[]): TimedEvent<P>[] {
  const events: TimedEvent<P>[] = []
  for (const link of links) {
    const { period, ends } = link
    const due = period.begins + STILL_ACTIVE_MS
    if (period.trial && ends > due && renewsAt(period, due))
      events.push({ slug: 'trial_still_active', period, run: [link], due, at: null, isByCharge: false })
  }
  const runs = runsOf(links)
  for (const [i, run] of runs.entries()) {
    const last = run.at(-1)!
    const at = runEnd(run)
    if (!Number.isFinite(at)) continue
    const isFinal = !last.period.autoRenewing || at > last.ends || runs[i + 1]?.[0]?.period.isNewBuy === true
    const slug = run.some(({ period }) => period.paid) ? 'subscription_expired' : 'trial_expired'
    const due = isUnanswered(last.period, at, isFinal) ? at + WORD_MS : isFinal ? at : at + JOIN_MS
    events.push({ slug, period: last.period, run, due, at, isByCharge: endedByCharge(last) })
  }
  return events
}

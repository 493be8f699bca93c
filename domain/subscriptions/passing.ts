import { type Link, runEnd, runsOf } from './chain.ts'
import { DAY_MS, JOIN_MS, type Period } from './period.ts'

/** An event that time alone brings: due then (ms), said to have happened `at`; null: when it is noticed. */
export type Passing<P extends Period> = {
  slug: 'trial_still_active' | 'trial_expired' | 'subscription_expired'
  period: P
  due: number
  at: number | null
}

export const STILL_ACTIVE_MS = 2 * DAY_MS

/**
 * What time brings, has brought or will bring to a lineage as it is known now: a trial that still runs with auto-renew on two days
 * after its start; the end of a run, at once when auto-renew is off or billing retry is over, else 24 h later, because a renewal
 * may still join.
 */
export function passingOf<P extends Period>(links: Link<P>[]): Passing<P>[] {
  const passings: Passing<P>[] = []
  for (const { period, ends } of links) {
    const due = period.begins + STILL_ACTIVE_MS
    const renewing = period.autoRenewing || (period.autoRenewOffAt !== null && period.autoRenewOffAt > due)
    if (period.trial && ends > due && renewing) passings.push({ slug: 'trial_still_active', period, due, at: null })
  }
  for (const run of runsOf(links)) {
    const last = run.at(-1)!
    const at = runEnd(run)
    if (!Number.isFinite(at)) continue
    const certain = !last.period.autoRenewing || at > last.ends
    const slug = run.some(({ period }) => period.paid) ? 'subscription_expired' : 'trial_expired'
    passings.push({ slug, period: last.period, due: certain ? at : at + JOIN_MS, at })
  }
  return passings
}

import { JOIN_MS, LAST_MS, type Period, RETRY_MS } from './period.ts'

/** A period in its lineage. `ends`: earliest of its expiry, the next period's beginning and its full refund; Infinity: never. */
export type Link<P extends Period> = {
  period: P
  ends: number
  /** End of billing retry; null outside of it. */
  retryUntil: number | null
  /** Whether it belongs to the run of the one before. */
  joined: boolean
  /** End of what it contributes to access: a grace period extends it. */
  accessUntil: number
}

const never = (time: number | null) => time ?? Number.POSITIVE_INFINITY

/** Without auto-renew nobody charges any more: retry is over when it was switched off, the grace that was promised is kept. */
export function retryEnd(period: Omit<Period, 'begins' | 'trial' | 'paid'>, ends: number): number | null {
  if (period.retryAt === null || period.refundedAt !== null) return null
  if (period.autoRenewing) return Math.min(period.retryAt + RETRY_MS, LAST_MS)
  return Math.max(period.autoRenewOffAt ?? period.retryAt, ends, period.graceUntil ?? ends)
}

/**
 * Links the periods of one lineage, given in the order of their beginnings. A period is joined to the one before if that one did not
 * end with auto-renew off, and it begins at most 24 h after that one's end or while billing retry lasts.
 */
export function chain<P extends Period>(periods: P[]): Link<P>[] {
  const links: Link<P>[] = []
  for (const [i, period] of periods.entries()) {
    const next = periods[i + 1]?.begins ?? Number.POSITIVE_INFINITY
    const cut = Math.min(next, never(period.refundedAt))
    const ends = Math.min(never(period.expires), cut)
    const before = links.at(-1)
    const joined =
      before?.period.autoRenewing === true &&
      (period.begins <= before.ends + JOIN_MS || (before.retryUntil !== null && period.begins <= before.retryUntil))
    const granted = period.retryAt !== null && period.graceUntil !== null ? period.graceUntil : period.expires
    links.push({ period, ends, retryUntil: retryEnd(period, ends), joined, accessUntil: Math.min(never(granted), cut) })
  }
  return links
}

/** Maximal chains of joined periods. */
export function runsOf<P extends Period>(links: Link<P>[]): Link<P>[][] {
  const runs: Link<P>[][] = []
  for (const link of links) {
    if (link.joined) runs.at(-1)!.push(link)
    else runs.push([link])
  }
  return runs
}

/** A run ends at the expiry after billing retry, else at its last period's end. */
export function runEnd<P extends Period>(run: Link<P>[]): number {
  const last = run.at(-1)!
  return Math.max(last.ends, last.retryUntil ?? last.ends)
}

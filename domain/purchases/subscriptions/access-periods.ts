import { JOIN_MS, LAST_MS, type Period, RETRY_MS, WORD_MS } from './period.ts'

/**
 * A period in its lineage. `ends`: the earliest of its expiry, the begin of the next period and its full refund, but not before its begin;
 * Infinity: never.
 */
export type Link<P extends Period> = {
  period: P
  ends: number
  /** End of billing retry, at latest the begin of the next period; null outside of it. */
  retryUntil: number | null
  /** Whether it belongs to the same run as the previous period. */
  joined: boolean
  /** End of the access that it gives. A grace period extends the access. */
  accessUntil: number
}

const never = (time: number | null) => time ?? Number.POSITIVE_INFINITY

/** The fields that decide how long billing retry lasts. */
type RetryFacts = Pick<Period, 'expires' | 'autoRenewing' | 'autoRenewOffAt' | 'retryAt' | 'graceUntil' | 'refundedAt'>

/**
 * The store charges only while auto-renew is on: billing retry ends when auto-renew is switched off, and after RETRY_MS where the store
 * states no end. A grace period that the store granted lasts to its end.
 */
export function retryEnd(period: RetryFacts, ends: number): number | null {
  if (period.retryAt === null || period.refundedAt !== null) return null
  const unheard = Math.min(period.retryAt + RETRY_MS, LAST_MS)
  if (period.autoRenewing) return unheard
  return Math.max(Math.min(period.autoRenewOffAt ?? period.retryAt, unheard), ends, period.graceUntil ?? ends)
}

/** A period that the store calls a purchase continues a period that it cuts short, but no period that has ended: the customer bought again. */
function joins<P extends Period>(period: P, before: Link<P> | undefined): boolean {
  if (before?.period.autoRenewing !== true) return false
  if (period.isNewBuy) return period.begins <= before.ends
  return period.begins <= before.ends + JOIN_MS || (before.retryUntil !== null && period.begins <= before.retryUntil)
}

/**
 * Links a period of a lineage, whose periods are in the order of their begin, to the link before it. A period is joined to the previous one
 * if auto-renew was on at the end of the previous one, and if it begins at most 24 h after that end or during billing retry; a new purchase
 * only if it begins by that end.
 */
export function linkOf<P extends Period>(periods: P[], i: number, before: Link<P> | undefined): Link<P> {
  const period = periods[i]!
  const next = periods[i + 1]?.begins ?? Number.POSITIVE_INFINITY
  const cut = Math.min(next, never(period.refundedAt))
  const ends = Math.max(period.begins, Math.min(never(period.expires), cut))
  const joined = joins(period, before)
  const granted = period.retryAt !== null && period.graceUntil !== null ? period.graceUntil : period.expires
  const retry = retryEnd(period, ends)
  const retryUntil = retry !== null && retry > ends ? Math.min(retry, next) : null
  return { period, ends, retryUntil, joined, accessUntil: Math.min(never(granted), cut) }
}

/** Links the periods of one lineage, given in the order of their begin. */
export function chain<P extends Period>(periods: P[]): Link<P>[] {
  const links: Link<P>[] = []
  for (const i of periods.keys()) links.push(linkOf(periods, i, links.at(-1)))
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

/**
 * Whether a connected store has not answered yet what follows the end of a run (ms). While auto-renew is on, a statement that only repeats this
 * answers nothing: the store books a renewal late. `isFinal`: auto-renew is off or billing retry has ended; then any statement after the end counts.
 */
export const isUnanswered = ({ statedUntil }: Period, end: number, isFinal: boolean): boolean =>
  statedUntil !== null && (!isFinal || statedUntil < end)

/**
 * Until when the subscription keeps its state after the period: while auto-renew is on and nothing else is stated, a renewal may be
 * reported up to 24 h late, by a connected store up to 72 h. Access ends with the period nevertheless.
 */
export function stateUntil<P extends Period>({ period, ends, retryUntil }: Link<P>): number {
  const isOpen = period.autoRenewing && !period.endStated && period.refundedAt === null && retryUntil === null
  return isOpen ? ends + (isUnanswered(period, ends, false) ? WORD_MS : JOIN_MS) : ends
}

/** A run ends with the billing retry of its last period, else with that period. */
export function runEnd<P extends Period>(run: Link<P>[]): number {
  const last = run.at(-1)!
  return Math.max(last.ends, last.retryUntil ?? last.ends)
}

/** When the access of a run ended: billing retry gives none. */
export function accessEnd<P extends Period>(run: Link<P>[]): number {
  const { ends, accessUntil } = run.at(-1)!
  return Math.max(ends, Math.min(accessUntil, runEnd(run)))
}

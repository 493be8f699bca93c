import type { KnownPeriod, Subscription } from './lineages.ts'
import { JOIN_MS } from './period.ts'
import type { PurchaseRow } from './purchase.ts'
import { timedEventsOf } from './timed-events.ts'

/** A lineage that had no new fact for so long is taken for complete. */
const QUIET_MS = 10 * 60_000

/**
 * Whether the period was over when it was recorded. The periods before and after it may be recorded next, and they decide which events it
 * has. A store that confirms a purchase reports its whole lineage at once.
 */
const isHistory = ({ purchase }: KnownPeriod): boolean =>
  purchase !== null && purchase.verified_at === null && purchase.expires_at !== null && purchase.expires_at <= purchase.created_at

/** The purchases whose begin, and whose expiry, is told when the lineage is quiet; `until`: the time of that, null when nothing waits. */
export type Waiting = { begins: Set<PurchaseRow>; ends: Set<PurchaseRow>; until: number | null }

const isUntold = (purchase: PurchaseRow, event: string) => !purchase.emitted.includes(event)

/**
 * The events of a lineage that are due by `now` (ms) and wait: the begins of history, and the end of a run that has such a begin or that
 * ended over 24 h ago. Ten minutes more than 24 h: a timer that tells an end 24 h after it is not late.
 */
export function waitingOf({ links, recordedAt }: Pick<Subscription, 'links' | 'recordedAt'>, now: number): Waiting {
  const quietAt = recordedAt + QUIET_MS
  if (now >= quietAt) return { begins: new Set(), ends: new Set(), until: null }
  const waits = (period: KnownPeriod) => isHistory(period) && isUntold(period.purchase!, 'begin')
  const begins = links.flatMap(({ period }) => (waits(period) ? [period.purchase!] : []))
  const ends = timedEventsOf(links).flatMap(({ slug, run, period: { purchase }, due, at }) => {
    if (slug === 'trial_still_active' || !purchase || due > now || !isUntold(purchase, 'expired')) return []
    const isLate = purchase.verified_at === null && at! + JOIN_MS + QUIET_MS < now
    return isLate || run.some(({ period }) => waits(period)) ? [purchase] : []
  })
  return { begins: new Set(begins), ends: new Set(ends), until: begins.length + ends.length > 0 ? quietAt : null }
}

import type { Link } from './access-periods.ts'
import type { FoldedPurchase } from './folded-purchase.ts'
import type { KnownPeriod, Subscription } from './lineages.ts'
import { JOIN_MS, parseTime, WORD_MS } from './period.ts'
import { timedEventsOf } from './timed-events.ts'

/** A lineage that had no new fact for this long is taken to be complete. */
const QUIET_MS = 10 * 60_000

/** Whether a connected store may not have reported all periods before this one yet. */
const isIncomplete = ({ purchased_at, complete_until }: FoldedPurchase) => complete_until === null || purchased_at > complete_until

/** Whether a connected store has reported the whole lineage since `at` (ms): nothing of what led to the end is missing. */
const isWhole = ({ is_connected, whole_until }: FoldedPurchase, at: number) => is_connected && (parseTime(whole_until) ?? 0) >= at

/**
 * Until when the begin of a period waits; null: not at all. Periods that are not recorded yet may lie before it, and they decide which event it
 * is. From a connected store they are fetched. Otherwise a period that was over when it was recorded is taken for a part of a history.
 */
function beginWaitsUntil({ purchase }: KnownPeriod, quietAt: number): number | null {
  if (!purchase || purchase.emitted.includes('begin')) return null
  if (purchase.is_connected) return isIncomplete(purchase) ? Date.parse(purchase.created_at) + WORD_MS : null
  const isHistory = purchase.expires_at !== null && purchase.expires_at <= purchase.created_at
  return isHistory ? quietAt : null
}

/** Google numbers the renewals of an order. */
const RENEWAL_ORDER = /\.\.\d+$/

/**
 * The index of each period that follows a gap which only notifications explain: Google does not tell a resumption after a pause from a renewal after
 * a failed charge. The notification of the failure may still be on its way, or the one that auto-renew was switched on again before it.
 */
const unexplained = (links: Subscription['links']): Set<number> =>
  new Set(
    links.flatMap(({ joined, period: { purchase, begins } }, i) => {
      const before = links[i - 1]
      if (!before || joined || purchase?.platform !== 'play_store' || !purchase.is_connected) return []
      const wentOn = before.period.autoRenewing || RENEWAL_ORDER.test(purchase.order_id ?? '')
      return wentOn && begins > before.ends + JOIN_MS ? [i] : []
    }),
  )

/** An end that a timer emits 24 h later is not late. */
const isLongOver = (at: number, now: number) => at + JOIN_MS + QUIET_MS < now

/**
 * Whether the statement of the store about the end of a connected lineage's run may be on its way: only the next run shows that auto-renew
 * was off. The same is true for an end by a failed charge that is long past: an answer of today has today's time, and only a notification
 * states when the end was.
 */
const isUnsettled = (last: Link<KnownPeriod>, next: Link<KnownPeriod> | undefined, isOldFailure: boolean): boolean =>
  last.period.purchase?.is_connected === true && (isOldFailure || (last.period.autoRenewing && next !== undefined))

/** Whether an end of the connected lineage is long past and no event reports it, and the store has not reported the lineage since: a fetch must come first. */
export const hasUnheardEnd = (links: Link<KnownPeriod>[], now: number): boolean =>
  timedEventsOf(links).some(
    ({ slug, period: { purchase }, due, at }) =>
      slug !== 'trial_still_active' &&
      purchase?.is_connected === true &&
      due <= now &&
      !purchase.emitted.includes('expired') &&
      isLongOver(at!, now) &&
      !isWhole(purchase, at!),
  )

/** The purchases whose begin, and whose expiry, waits; `until`: the first time at which one of them waits no longer, null when nothing waits. */
export type Waiting = { begins: Set<FoldedPurchase>; ends: Set<FoldedPurchase>; until: number | null }

/**
 * The events of a lineage that are due by `now` (ms) and wait: begins before which something may be missing or whose gap is unexplained, and the end of
 * a run that has such a begin, that is before such a gap, that ended over 24 h ago, or whose billing retry is not settled.
 */
export function waitingOf({ links, recordedAt }: Pick<Subscription, 'links' | 'recordedAt'>, now: number): Waiting {
  const quietAt = recordedAt + QUIET_MS
  const isConnected = links.some(({ period: { purchase } }) => purchase?.is_connected)
  if (now >= quietAt && !isConnected) return { begins: new Set(), ends: new Set(), until: null }
  const waitUntil = (period: KnownPeriod) => {
    const until = beginWaitsUntil(period, quietAt)
    return until !== null && now < until ? until : null
  }
  const gaps = now < quietAt ? unexplained(links) : new Set<number>()
  const begins = new Map(
    links.flatMap(({ period }, i) => {
      const until = waitUntil(period) ?? (gaps.has(i) && !period.purchase!.emitted.includes('begin') ? quietAt : null)
      return until === null ? [] : [[period.purchase!, until] as const]
    }),
  )
  const ends = new Map<FoldedPurchase, number>()
  const indexes = new Map(links.map((link, i) => [link, i]))
  for (const { slug, run, period, due, at, isByCharge } of timedEventsOf(links)) {
    const { purchase } = period
    if (slug === 'trial_still_active' || !purchase || due > now || purchase.emitted.includes('expired')) continue
    const isLate = now < quietAt && isLongOver(at!, now) && !isWhole(purchase, at!)
    const next = indexes.get(run.at(-1)!)! + 1
    const isOldFailure = isByCharge && isLongOver(at!, now)
    const isOpen = gaps.has(next) || (now < quietAt && isUnsettled(run.at(-1)!, links[next], isOldFailure))
    const untilBegun = run.flatMap(({ period: { purchase: of } }) => (of && begins.get(of)) ?? [])
    const until = [...untilBegun, ...(isLate || isOpen ? [quietAt] : [])]
    if (until.length > 0) ends.set(purchase, Math.max(...until))
  }
  const times = [...begins.values(), ...ends.values()]
  return { begins: new Set(begins.keys()), ends: new Set(ends.keys()), until: times.length > 0 ? Math.min(...times) : null }
}

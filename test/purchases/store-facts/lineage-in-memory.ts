import { withoutPauses } from '../../../domain/kernel/in-steps.ts'
import type { Emission } from '../../../domain/purchases/emit.ts'
import { pendingInSteps } from '../../../domain/purchases/pending-events.ts'
import { statedFactsOf } from '../../../domain/purchases/purchase-facts.ts'
import type { NoticeRow } from '../../../domain/purchases/store-events.ts'
import { foldLineage } from '../../../domain/purchases/store-facts/fold.ts'
import { type Tied, tied } from '../../../domain/purchases/store-facts/order.ts'
import { statedPeriods } from '../../../domain/purchases/store-facts/stated-period.ts'
import type { PeriodStatement, RenewalStatement, Statement } from '../../../domain/purchases/store-facts/statement.ts'
import { subscriptionsOf } from '../../../domain/purchases/subscriptions/lineages.ts'
import { LAST_MS } from '../../../domain/purchases/subscriptions/period.ts'
import type { PurchaseRow, Store } from '../../../domain/purchases/subscriptions/purchase.ts'

const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`

/** `wholeUntil` (ms): the store reported the whole history up to then. */
type LineageOptions = { isConnected: boolean; platform?: Store; wholeUntil?: number | null }

/** A lineage in memory: what the database keeps of it, without a database. */
export function lineageInMemory({ isConnected, platform = 'app_store', wholeUntil = null }: LineageOptions) {
  const statements = new Map<string, Tied>()
  const purchases = new Map<string, PurchaseRow>()
  const emitted: Emission[] = []

  function emitPending(now: number, notices: NoticeRow[] = []): void {
    const rows = [...purchases.values()].sort((a, b) => (a.purchased_at < b.purchased_at ? -1 : 1))
    const events = withoutPauses(pendingInSteps(rows, subscriptionsOf(rows, []), notices, now))
    for (const event of events) {
      event.purchase.emitted.push(event.emittedAs)
      if (event.refundReported !== undefined) event.purchase.refund_told = event.refundReported
      if (event.takenBackReported !== undefined) event.purchase.taken_back_told = event.takenBackReported
      if (event.creditReported !== undefined) event.purchase.credit_told = event.creditReported
      if (!event.isPosted) emitted.push(event)
    }
  }

  /** Records statements of one notification at a time, as `recordReports` does, and tells what is due. */
  function record(recorded: Statement[], now: number): void {
    for (const statement of recorded.map(tied))
      statements.set(`${statement.kind}|${statement.subject}|${statement.statedAt}|${statement.tie}`, statement)
    const all = [...statements.values()]
    const periods = all.filter((one): one is Tied<PeriodStatement> => one.kind === 'period')
    const renewals = all.filter((one): one is Tied<RenewalStatement> => one.kind === 'renewal')
    const folded = foldLineage(platform, statedPeriods(periods), renewals, wholeUntil)
    const lineage = {
      is_connected: isConnected,
      stated_until: iso(Math.max(...all.map(({ statedAt }) => statedAt))),
      whole_until: wholeUntil === null ? null : iso(wholeUntil),
      complete_until: folded.completeUntil === null ? null : iso(Math.min(folded.completeUntil, LAST_MS)),
      owned_at: null,
      was_transferred: false,
    }
    for (const period of folded.periods) {
      const known = purchases.get(period.subject)
      const facts = statedFactsOf(period, known)
      const isChanged =
        known && Object.entries(facts).some(([name, fact]) => JSON.stringify(fact) !== JSON.stringify(known[name as keyof PurchaseRow]))
      purchases.set(period.subject, {
        ...(known ?? {
          id: Number(period.subject.slice(1)),
          lineage: 1,
          lineage_name: 't1',
          user_id: 'u',
          platform,
          screen_id: null,
          triggers: true,
          created_at: iso(now),
          access_until: null,
          run_started_at: null,
          is_last: false,
          posted_back: [],
          repeated_refunds: [],
          emitted: [],
          refund_told: '0',
          taken_back_told: '0',
          credit_told: '0',
          is_unmapped: false,
          known_country: null,
          known_app_version: null,
          known_locale: null,
          rate: null,
        }),
        ...facts,
        ...lineage,
        verified_at: iso(now),
        updated_at: isChanged ? iso(now) : (known?.updated_at ?? null),
      })
    }
    for (const [subject, row] of purchases) purchases.set(subject, { ...row, ...lineage })
    emitPending(now)
  }

  return { record, emitPending, emitted, purchases }
}

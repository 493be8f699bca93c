import type { Drift } from '../domain/oversight/reconciliation/drift.ts'

/** The figures of `/readyz`: sums, and their parts by kind of job and by consumer. */
export function readinessFigures({ late, held, lag, setAside, unremoved, failedReportRuns, broken, facts, stores, orphans }: Drift) {
  const kinds = late.filter(({ overdue }) => overdue > 0)
  return {
    overdue: kinds.reduce((sum, { overdue }) => sum + overdue, 0),
    oldest_overdue_seconds: Math.round(Math.max(0, ...kinds.map(({ oldest_seconds }) => oldest_seconds))),
    overdue_by_kind: Object.fromEntries(kinds.map(({ kind, overdue }) => [kind, overdue])),
    abandoned: late.reduce((sum, { abandoned }) => sum + abandoned, 0),
    unknown: late.reduce((sum, { unknown }) => sum + unknown, 0),
    unknown_kinds: late.filter(({ unknown }) => unknown > 0).map(({ kind }) => kind),
    held: held.held,
    oldest_held_seconds: Math.round(held.seconds),
    orphans,
    consumer_lag_seconds: Object.fromEntries(lag.map(({ consumer, seconds }) => [consumer, Math.round(seconds)])),
    set_aside: setAside.reduce((sum, { events }) => sum + events, 0),
    unremoved_files: unremoved.files,
    failed_report_runs: failedReportRuns,
    integrations_in_error: broken.integrationsInError,
    exhausted_deliveries: broken.exhaustedDeliveries,
    failed_automation_runs: broken.failedAutomationRuns,
    marked_users: facts.marked,
    oldest_mark_seconds: Math.round(facts.oldest_seconds),
    set_aside_users: facts.set_aside,
    fact_drift: facts.drifted,
    store_pending: stores.pending.reduce((sum, { pending }) => sum + pending, 0),
    store_oldest_pending_seconds: Math.round(Math.max(0, ...stores.pending.map(({ oldest_seconds }) => oldest_seconds))),
    store_late_seconds: Math.round(Math.max(0, ...stores.pending.map(({ late_seconds }) => late_seconds))),
    store_set_aside: stores.setAside.reduce((sum, { notifications }) => sum + notifications, 0),
    store_unacknowledged: stores.unacknowledged,
    store_alerts: Object.fromEntries(stores.alerts.map(({ alert, stores: count }) => [alert, count])),
  }
}

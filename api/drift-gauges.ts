import { Counter, Gauge, type Registry } from 'prom-client'
import type { Readiness } from './readiness.ts'

/** Gauges of overdue jobs, held deliveries, orphans, consumer lag, set-aside events, the facts of figures and stores. They are set when the metrics are read. */
export function driftGauges(readiness: Readiness, registers: Registry[]) {
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Gauge({ name, help, labelNames, registers })
  const age = gauge(
    'perennial_figures_age_seconds',
    'How old the figures of the whole installation are; +Inf: none were read since the start',
  )
  const overdue = gauge('perennial_overdue', 'Jobs that have been due for more than 60 s without a lease', ['kind'])
  const oldest = gauge('perennial_oldest_overdue_seconds', 'How long the oldest overdue job has been due', ['kind'])
  const abandoned = gauge('perennial_abandoned', 'Jobs whose lease has expired and that no worker has claimed again', ['kind'])
  const unknown = gauge('perennial_unknown', 'Due jobs of a kind that no live worker executes', ['kind'])
  const held = gauge('perennial_held', 'Deliveries held because their integration is in error, up to 10,000 of each integration')
  const heldSeconds = gauge('perennial_oldest_held_seconds', 'For how long the first of them has been held')
  const orphans = gauge('perennial_orphans', 'Orphans: unfinished work without a due job, at the last check')
  const repaired = gauge('perennial_orphans_repaired', 'Orphans repaired in total')
  const lag = gauge('perennial_consumer_lag', 'Events that a consumer of the log has not read yet', ['consumer'])
  const lagSeconds = gauge('perennial_consumer_lag_seconds', 'How long the oldest unread event has waited', ['consumer'])
  const setAside = gauge('perennial_set_aside', 'Events that a consumer of the log could not handle, not replayed yet', ['consumer'])
  const unremoved = gauge('perennial_unremoved_files', 'Files of exports that the storage fails to remove, or to rewrite after an erasure')
  const unremovedSeconds = gauge('perennial_unremoved_files_seconds', 'For how long the storage has failed to remove the oldest of them')
  const failedReportRuns = gauge('perennial_failed_report_runs', 'Runs of reports that failed within a day and were not sent again since')
  const inError = gauge('perennial_integrations_in_error', 'Integrations of production that are in error, up to 10,000')
  const exhausted = gauge(
    'perennial_exhausted_deliveries',
    'Deliveries of production that failed within a day after all attempts, and were not sent again; among the newest 10,000 of all environments',
  )
  const failedRuns = gauge(
    'perennial_failed_automation_runs',
    'Runs of automations of production that failed within a day; among the newest 10,000 of all environments',
  )
  const marked = gauge('perennial_marked_users', 'Users whose facts are to be folded, up to 10,000')
  const markSeconds = gauge('perennial_oldest_mark_seconds', 'How long the first of them has waited')
  const setAsideUsers = gauge('perennial_set_aside_users', 'Users whose facts cannot be folded, up to 10,000')
  const drifting = gauge('perennial_fact_drift', 'Users whose stored facts differed from a new fold in the last look; must be 0')
  const pending = gauge('perennial_store_pending', 'Notifications of stores that are not worked on yet, up to 10,000 of each project', [
    'store',
  ])
  const pendingSeconds = gauge('perennial_store_oldest_pending_seconds', 'How long the first of them has waited', ['store'])
  const setAsideNotifications = gauge(
    'perennial_store_set_aside',
    'Notifications of stores that could not be read or applied, up to 10,000',
    ['store'],
  )
  const unacknowledged = gauge(
    'perennial_store_unacknowledged',
    'Purchases not acknowledged at Google Play a day after they got their owner',
  )
  const alerts = gauge('perennial_store_alerts', 'Stores of projects with the alert', ['alert'])
  const lastPush = gauge('perennial_store_last_push_seconds', 'Time since the last push of a connected store; +Inf: none in 90 days', [
    'project',
    'store',
    'environment',
  ])
  // The database counts them, for all processes.
  const total = (name: string, help: string) => {
    const counter = new Counter({ name, help, registers })
    return (value: number) => {
      counter.reset()
      counter.inc(value)
    }
  }
  const compared = total('perennial_facts_compared_total', 'Users whose stored facts were compared with a new fold')
  const drifted = total('perennial_fact_drift_total', 'Users whose stored facts differed from a new fold')
  return {
    async read(): Promise<void> {
      const [drift, pushes] = await Promise.all([readiness.drift(), readiness.lastPushes()])
      const ageMs = readiness.driftAgeMs()
      age.set(ageMs === null ? Number.POSITIVE_INFINITY : ageMs / 1000)
      if (pushes) {
        lastPush.reset()
        for (const { project, platform: store, environment, seconds } of pushes)
          lastPush.set({ project: String(project), store, environment }, seconds ?? Number.POSITIVE_INFINITY)
      }
      if (!drift) return
      // A kind or consumer that is missing in this reading must not keep its last figure.
      for (const each of [overdue, oldest, abandoned, unknown, lag, lagSeconds, setAside]) each.reset()
      for (const each of [pending, pendingSeconds, setAsideNotifications, alerts]) each.reset()
      for (const { kind, ...late } of drift.late) {
        overdue.set({ kind }, late.overdue)
        oldest.set({ kind }, late.oldest_seconds)
        abandoned.set({ kind }, late.abandoned)
        unknown.set({ kind }, late.unknown)
      }
      for (const { consumer, events, seconds } of drift.lag) {
        lag.set({ consumer }, events)
        lagSeconds.set({ consumer }, seconds)
      }
      for (const { consumer, events } of drift.setAside) setAside.set({ consumer }, events)
      for (const { platform: store, ...of } of drift.stores.pending) {
        pending.set({ store }, of.pending)
        pendingSeconds.set({ store }, of.oldest_seconds)
      }
      for (const { platform: store, notifications } of drift.stores.setAside) setAsideNotifications.set({ store }, notifications)
      for (const { alert, stores } of drift.stores.alerts) alerts.set({ alert }, stores)
      held.set(drift.held.held)
      heldSeconds.set(drift.held.seconds)
      unacknowledged.set(drift.stores.unacknowledged)
      unremoved.set(drift.unremoved.files)
      unremovedSeconds.set(drift.unremoved.seconds)
      failedReportRuns.set(drift.failedReportRuns)
      inError.set(drift.broken.integrationsInError)
      exhausted.set(drift.broken.exhaustedDeliveries)
      failedRuns.set(drift.broken.failedAutomationRuns)
      marked.set(drift.facts.marked)
      markSeconds.set(drift.facts.oldest_seconds)
      setAsideUsers.set(drift.facts.set_aside)
      drifting.set(drift.facts.drifted)
      compared(drift.facts.compared_total)
      drifted(drift.facts.drifted_total)
      orphans.set(drift.orphans)
      repaired.set(drift.repaired)
    },
  }
}

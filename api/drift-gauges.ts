import { Gauge, type Registry } from 'prom-client'
import { readDrift } from '../domain/jobs/drift.ts'
import type { Pool } from '../store/connect.ts'

/** Gauges of what is not as it should be, set when they are asked for. */
export function driftGauges(pool: Pool, registers: Registry[]) {
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Gauge({ name, help, labelNames, registers })
  const overdue = gauge('perennial_overdue', 'Promises due for more than 60 s that no worker holds', ['kind'])
  const oldest = gauge('perennial_oldest_overdue_seconds', 'How long the oldest of them has been due', ['kind'])
  const abandoned = gauge('perennial_abandoned', 'Promises whose holder let the lease run out and that nobody has taken up', ['kind'])
  const orphans = gauge('perennial_orphans', 'Promises that nothing would have moved, at the last look')
  const repaired = gauge('perennial_orphans_repaired', 'Promises that nothing would have moved and that were mended, in all')
  const lag = gauge('perennial_consumer_lag', 'Events that a reader of the log has not read yet', ['consumer'])
  const lagSeconds = gauge('perennial_consumer_lag_seconds', 'How long the oldest of them has waited', ['consumer'])
  const setAside = gauge('perennial_set_aside', 'Events that a reader of the log could not handle, not replayed yet', ['consumer'])
  return {
    async read(): Promise<void> {
      const drift = await readDrift(pool).catch(() => null)
      if (!drift) return
      // What is no longer late must not keep its last figure.
      for (const each of [overdue, oldest, abandoned, lag, lagSeconds, setAside]) each.reset()
      for (const { kind, ...late } of drift.late) {
        overdue.set({ kind }, late.overdue)
        oldest.set({ kind }, late.oldest_seconds)
        abandoned.set({ kind }, late.abandoned)
      }
      for (const { consumer, events, seconds } of drift.lag) {
        lag.set({ consumer }, events)
        lagSeconds.set({ consumer }, seconds)
      }
      for (const { consumer, events } of drift.setAside) setAside.set({ consumer }, events)
      orphans.set(drift.orphans)
      repaired.set(drift.repaired)
    },
  }
}

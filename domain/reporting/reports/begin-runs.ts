import type { Tx } from '../../../store/connect.ts'
import { opaqueId, orderedId } from '../../../store/ids.ts'
import { createRun, createRuns } from '../../durable/jobs/workflow-run.ts'
import type { Environment } from '../../kernel/environment.ts'
import { isRawDataOn, recordExport, recordExports } from '../exports/create.ts'
import { OF_CHARTS } from '../exports/export.ts'
import { daysBefore } from './chart-window.ts'
import { nextWindow, type ReportRow } from './report.ts'
import { fileWorkflowOf, pending } from './run.ts'
import { settleAllDestinations } from './settle.ts'
import { isoOf, moveSlots } from './slot-job.ts'
import type { Slot } from './slots.ts'

/** Starts a run: fixes its window in the log, records the export of its file and schedules the workflow that writes the file. */
export async function startReportRun(tx: Tx, environment: Environment, id: string): Promise<void> {
  const { rows } = await tx.query<
    Pick<ReportRow, 'type' | 'format' | 'include' | 'formula_guard' | 'timezone' | 'included_range_days'> & {
      slot: string | null
      window_from: string
      window_to: string
    }
  >(
    `update report_runs r set status = 'running', started_at = t.now,
       late_by_seconds = coalesce(greatest(0, floor(extract(epoch from t.now - r.slot))), 0)
     from scheduled_reports p, environment_now($1) t(now)
     where r.environment = $1 and r.id = $2 and r.status = 'pending' and p.environment = r.environment and p.id = r.report_id
     returning p.type, p.format, p.include, p.formula_guard, p.timezone, p.included_range_days, r.slot, r.window_from::text, r.window_to::text`,
    [environment, id],
  )
  const run = rows[0]
  if (!run) return
  // Figures of all customers together are no raw data.
  if (run.type !== OF_CHARTS && !(await isRawDataOn(tx, environment))) {
    await settleAllDestinations(tx, environment, id, 'withheld', 'raw_data_off')
    return
  }
  // The slot may have been taken before the report became one of charts, or by an older version of this service: its window would cut days.
  const whole = run.type === OF_CHARTS && run.slot !== null ? daysBefore(run.timezone, run.included_range_days, Date.parse(run.slot)) : null
  const [from, to] = whole ? [isoOf(whole.from), isoOf(whole.to)] : [run.window_from, run.window_to]
  const { id: file } = await recordExport(tx, environment, {
    type: run.type,
    format: run.format,
    formulaGuard: run.formula_guard,
    include: run.include,
    compression: 'none',
    platform: null,
    from,
    to,
    reportRun: id,
  })
  await tx.query('update report_runs set export_id = $3, window_from = $4, window_to = $5 where environment = $1 and id = $2', [
    environment,
    id,
    file,
    from,
    to,
  ])
  await createRun(tx, environment, { ...fileWorkflowOf(run.type), subject: id })
}

/** A slot that is due and runs. `next`: the slot after it. */
export type DueSlot = { report: ReportRow; slot: Slot; next: number }
type NewRun = DueSlot & { run: string; file: string; from: string; to: string }

/**
 * Records the runs of these slots as started, schedules the workflows that write their files, and schedules the reports' next slots. Each
 * statement does so for all of them, and runs with the same window share its offsets in the log. The reports are locked. Gives the slots
 * that had no run yet.
 */
export async function startDueSlots(tx: Tx, environment: Environment, slots: DueSlot[]): Promise<DueSlot[]> {
  if (slots.length === 0) return []
  const started = await recordStarted(
    tx,
    environment,
    slots.map(due => {
      const { from, to } = nextWindow(due.report, due.slot)
      return { ...due, run: orderedId('rrn'), file: opaqueId(), from: isoOf(from), to: isoOf(to) }
    }),
  )
  await moveSlots(
    tx,
    environment,
    started.map(({ report, slot, next }) => ({ number: report.number, last: isoOf(slot.at), next: isoOf(next) })),
  )
  for (const [workflow, some] of Map.groupBy(started, ({ report }) => fileWorkflowOf(report.type)))
    await createRuns(
      tx,
      environment,
      workflow,
      some.map(({ run }) => run),
    )
  // Last: from here on no other transaction appends to the log.
  for (const sameWindow of Map.groupBy(started, ({ from, to, report }) => `${report.type} ${from} ${to}`).values()) {
    const { from, to, report } = sameWindow[0]!
    const files = sameWindow.map(({ file, report, run }) => ({
      id: file,
      format: report.format,
      formulaGuard: report.formula_guard,
      include: report.include,
      reportRun: run,
    }))
    await recordExports(tx, environment, { type: report.type, compression: 'none', platform: null, from, to }, files)
  }
  return started
}

async function recordStarted(tx: Tx, environment: Environment, runs: NewRun[]): Promise<NewRun[]> {
  const { rows } = await tx.query<{ id: string }>({
    name: 'record-started-slots',
    text: `insert into report_runs (environment, id, report_id, kind, slot, window_from, window_to, status, late_by_seconds, export_id, destinations,
             created_at, started_at)
           select $1, s.run, s.report, 'scheduled', s.slot, s.from, s.to, 'running', greatest(0, floor(extract(epoch from t - s.slot))), s.file,
             s.destinations, t, t
           from environment_now($1) t, jsonb_to_recordset($2) s(run text, report text, slot timestamptz, "from" timestamptz, "to" timestamptz,
             file text, destinations jsonb)
           on conflict (environment, report_id, slot) where kind = 'scheduled' do nothing returning id`,
    values: [
      environment,
      JSON.stringify(
        runs.map(({ report, slot, run, file, from, to }) => ({
          run,
          report: report.id,
          slot: isoOf(slot.at),
          from,
          to,
          file,
          destinations: report.destinations.map(pending),
        })),
      ),
    ],
  })
  const recorded = new Set(rows.map(({ id }) => id))
  return runs.filter(({ run }) => recorded.has(run))
}

import type { Tx } from '../../store/connect.ts'
import { opaqueId, orderedId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { recordExports } from '../exports/create.ts'
import { createRuns } from '../runs/create.ts'
import { isoOf, moveSlots } from './promise.ts'
import type { ReportRow } from './report.ts'
import { FILE_WORKFLOW, pending } from './run.ts'
import { type Slot, windowOf } from './slots.ts'

/** A slot to be run. `next`: the one after it. */
export type Start = { report: ReportRow; slot: Slot; next: number }
type Begun = Start & { run: string; file: string; from: string; to: string }

/**
 * Records the runs of these slots as started, promises their files, and the next slots of the reports. All statements are about all of
 * them, and those with the same window share its cut. The reports must be held. Gives those whose slot was not there already.
 */
export async function startTogether(tx: Tx, environment: Environment, starts: Start[]): Promise<Start[]> {
  if (starts.length === 0) return []
  const begun = await recordStarted(
    tx,
    environment,
    starts.map(start => {
      const { from, to } = windowOf(start.report, start.report.included_range_days, start.slot)
      return { ...start, run: orderedId('rrn'), file: opaqueId(), from: isoOf(from), to: isoOf(to) }
    }),
  )
  await moveSlots(
    tx,
    environment,
    begun.map(({ report, slot, next }) => ({ number: report.number, last: isoOf(slot.at), next: isoOf(next) })),
  )
  await createRuns(
    tx,
    environment,
    FILE_WORKFLOW,
    begun.map(({ run }) => run),
  )
  // Last: from here on nobody appends to the log.
  for (const group of Map.groupBy(begun, ({ from, to }) => `${from} ${to}`).values()) {
    const { from, to } = group[0]!
    const files = group.map(({ file, report, run }) => ({ id: file, format: report.format, reportRun: run }))
    await recordExports(tx, environment, { type: 'events', compression: 'none', platform: null, from, to }, files)
  }
  return begun
}

async function recordStarted(tx: Tx, environment: Environment, starts: Begun[]): Promise<Begun[]> {
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
        starts.map(({ report, slot, run, file, from, to }) => ({
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
  return starts.filter(({ run }) => recorded.has(run))
}

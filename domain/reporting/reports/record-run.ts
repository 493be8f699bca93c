import type { Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import type { Environment } from '../../kernel/environment.ts'
import { nextWindow, type ReportRow } from './report.ts'
import { pending, type ReportRunRow, type RunDestination } from './run.ts'
import { isoOf } from './slot-job.ts'
import type { Slot } from './slots.ts'

type Ended = Pick<ReportRunRow, 'outcome' | 'reason'>

/** Records the run of the report's next slot, as pending or as ended. Null: the slot has a run already. */
export async function recordSlot(
  tx: Tx,
  environment: Environment,
  report: ReportRow,
  slot: Slot,
  ended: Ended | null,
): Promise<string | null> {
  const isSkipped = ended?.outcome === 'skipped'
  const window = isSkipped ? null : nextWindow(report, slot)
  const destinations: RunDestination[] = isSkipped ? [] : report.destinations.map(pending)
  const { rows } = await tx.query<{ id: string }>({
    name: 'record-slot',
    text: `insert into report_runs (environment, id, report_id, kind, slot, window_from, window_to, status, outcome, reason, destinations,
             created_at, finished_at)
           select $1, $2, $3, 'scheduled', $4, $5, $6, $7, $8, $9, $10, t, case when $7 = 'finished' then t end from environment_now($1) t
           on conflict (environment, report_id, slot) where kind = 'scheduled' do nothing returning id`,
    values: [
      environment,
      orderedId('rrn'),
      report.id,
      isoOf(slot.at),
      window && isoOf(window.from),
      window && isoOf(window.to),
      ended ? 'finished' : 'pending',
      ended?.outcome ?? null,
      ended?.reason ?? null,
      JSON.stringify(ended ? destinations.map(d => ({ ...d, status: 'withheld', reason: ended.reason })) : destinations),
    ],
  })
  return rows[0]?.id ?? null
}

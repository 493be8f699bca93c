import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

/** Starts a run; subject: the run. */
export const REPORT_WORKFLOW = { workflow: 'scheduled-report', version: 1 } as const
/** Makes the run's file; subject: the run. */
export const FILE_WORKFLOW = { workflow: 'report-file', version: 1 } as const
/** Brings one run's file to one destination; subject: both. */
export const DELIVERY_WORKFLOW = { workflow: 'report-delivery', version: 1 } as const

export const deliverySubject = (run: string, destination: string): string => `${run}:${destination}`
export const deliveryOf = (subject: string): { run: string; destination: string } => {
  const [run = '', destination = ''] = subject.split(':')
  return { run, destination }
}

export type RunDestination = {
  id: string
  label: string
  status: 'pending' | 'delivered' | 'withheld' | 'failed'
  reason: string | null
  attempts: number
  delivered_at: string | null
}

export type RunRow = {
  id: string
  report_id: string
  kind: 'scheduled' | 'test'
  slot: string | null
  window_from: string | null
  window_to: string | null
  status: 'pending' | 'running' | 'finished'
  outcome: Outcome | null
  reason: string | null
  late_by_seconds: number
  export_id: string | null
  rows: number | null
  resends: number
  destinations: RunDestination[]
  created_at: string
  started_at: string | null
  finished_at: string | null
}

export const RUN_COLUMNS = `id, report_id, kind, slot, window_from, window_to, status, outcome, reason, late_by_seconds, export_id, rows, resends,
  destinations, created_at, started_at, finished_at`

export const pending = ({ id, label }: { id: string; label: string }): RunDestination => ({
  id,
  label,
  status: 'pending',
  reason: null,
  attempts: 0,
  delivered_at: null,
})

/** The run, held until the transaction ends; null when it is not kept any more. */
export async function lockRun(db: Db, environment: Environment, id: string): Promise<RunRow | null> {
  const { rows } = await db.query<RunRow>({
    name: 'hold-report-run',
    text: `select ${RUN_COLUMNS} from report_runs where environment = $1 and id = $2 for no key update`,
    values: [environment, id],
  })
  return rows[0] ?? null
}

export type Outcome = 'delivered' | 'empty' | 'withheld' | 'failed' | 'skipped'
export type Withheld = 'report_deleted' | 'report_paused' | 'raw_data_off' | 'destination_inactive'

/** Of several reasons the one that concerns the whole report. */
const ORDER: Withheld[] = ['report_deleted', 'report_paused', 'raw_data_off', 'destination_inactive']

/** The reason of every destination of a run without file. */
export const EXPORT_FAILED = 'export_failed'

/** What became of a run, by its destinations; null while one is pending. */
export function outcomeOf(destinations: RunDestination[], rows: number | null): { outcome: Outcome; reason: string | null } | null {
  const reasons = (status: RunDestination['status']) => destinations.flatMap(d => (d.status === status ? [d.reason] : []))
  if (reasons('pending').length > 0) return null
  const failed = reasons('failed')
  if (failed.length > 0) return { outcome: 'failed', reason: failed.includes(EXPORT_FAILED) ? EXPORT_FAILED : 'destination_failed' }
  const withheld = reasons('withheld')
  if (withheld.length > 0) return { outcome: 'withheld', reason: ORDER.find(reason => withheld.includes(reason)) ?? withheld[0]! }
  return { outcome: rows === 0 ? 'empty' : 'delivered', reason: null }
}

/** The export that makes the file of a run that was started; null when it is not kept any more. */
export async function exportOf(db: Db, environment: Environment, run: string): Promise<{ id: string; isFinished: boolean } | null> {
  const { rows } = await db.query<{ id: string; isFinished: boolean }>({
    name: 'export-of-report-run',
    text: `select x.id, x.status in ('done', 'failed') as "isFinished"
           from report_runs r join exports x on x.environment = r.environment and x.id = r.export_id where r.environment = $1 and r.id = $2`,
    values: [environment, run],
  })
  return rows[0] ?? null
}

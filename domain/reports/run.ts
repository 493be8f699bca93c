import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import type { Outcome } from './outcome.ts'

/** Starts a run and makes its file; subject: the run. */
export const REPORT_WORKFLOW = { workflow: 'scheduled-report', version: 1 } as const
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
export async function holdRun(db: Db, environment: Environment, id: string): Promise<RunRow | null> {
  const { rows } = await db.query<RunRow>({
    name: 'hold-report-run',
    text: `select ${RUN_COLUMNS} from report_runs where environment = $1 and id = $2 for no key update`,
    values: [environment, id],
  })
  return rows[0] ?? null
}

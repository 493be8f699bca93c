import type { Db, Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type FileType, OF_CHARTS } from '../exports/export.ts'
import type { RunChart } from './chart-figures.ts'

/** Starts a run. Subject: the run. */
export const REPORT_WORKFLOW = { workflow: 'scheduled-report', version: 1 } as const
/** Writes the run's file. Subject: the run. */
export const FILE_WORKFLOW = { workflow: 'report-file', version: 1 } as const
/** Makes the file of a run of charts. Subject: the run. */
export const CHARTS_WORKFLOW = { workflow: 'report-charts', version: 1 } as const
/** Delivers one run's file to one destination: sends the address of the file. Subject: both. */
export const DELIVERY_WORKFLOW = { workflow: 'report-delivery', version: 1 } as const
/** The same where the file itself is sent. That may take hours: so it has a capacity of its own. */
export const UPLOAD_WORKFLOW = { workflow: 'report-upload', version: 1 } as const

/** One delivery: of which run, to which destination, and how often the run had been sent again when it was created. */
export type Delivery = { run: string; destination: string; resends: number }
export const deliverySubject = ({ run, destination, resends }: Delivery): string => `${run}:${destination}:${resends}`
export const deliveryOf = (subject: string): Delivery => {
  const [run = '', destination = '', resends = '0'] = subject.split(':')
  return { run, destination, resends: Number(resends) }
}

export type ReportRunOutcome = 'delivered' | 'empty' | 'withheld' | 'failed' | 'skipped'
export type Withheld = 'report_deleted' | 'report_paused' | 'raw_data_off' | 'destination_inactive'

export type RunDestination = {
  id: string
  label: string
  status: 'pending' | 'delivered' | 'withheld' | 'failed'
  reason: string | null
  attempts: number
  /** How the last attempt failed, and when the next one is due. */
  error: string | null
  next_attempt_at: string | null
  delivered_at: string | null
}

export type ReportRunRow = {
  id: string
  report_id: string
  kind: 'scheduled' | 'test'
  slot: string | null
  window_from: string | null
  window_to: string | null
  status: 'pending' | 'running' | 'finished'
  outcome: ReportRunOutcome | null
  reason: string | null
  late_by_seconds: number
  export_id: string | null
  rows: number | null
  resends: number
  destinations: RunDestination[]
  /** What a run of charts shows, and the time before which everything recorded counts; null: it shows none, or not yet. */
  charts: RunChart[] | null
  as_of: string | null
  created_at: string
  started_at: string | null
  finished_at: string | null
}

export const REPORT_RUN_COLUMNS = `id, report_id, kind, slot, window_from, window_to, status, outcome, reason, late_by_seconds, export_id, rows,
  resends, destinations, charts, as_of, created_at, started_at, finished_at`

/** A destination to which the run's file is not delivered yet. */
export const pending = ({ id, label }: { id: string; label: string }): RunDestination => ({
  id,
  label,
  status: 'pending',
  reason: null,
  attempts: 0,
  error: null,
  next_attempt_at: null,
  delivered_at: null,
})

/** A report's run by its environment and id. */
export type RunKey = { environment: Environment; id: string }
export type LockedReportRun = ReportRunRow & RunKey

/** The run, locked until the transaction ends; null when retention has deleted it. */
export const lockReportRun = async (tx: Tx, environment: Environment, id: string): Promise<ReportRunRow | null> =>
  (await lockReportRuns(tx, [{ environment, id }]))[0] ?? null

const inOrder = (a: RunKey, b: RunKey) => a.environment - b.environment || (a.id < b.id ? -1 : 1)

/** The runs that retention has not deleted, each once, locked in order until the transaction ends. */
export async function lockReportRuns(tx: Tx, runs: readonly RunKey[]): Promise<LockedReportRun[]> {
  const keys = [...new Map(runs.map(run => [`${run.environment} ${run.id}`, run])).values()].toSorted(inOrder)
  const { rows } = await tx.query<LockedReportRun>({
    name: 'lock-report-runs',
    text: `select r.* from unnest($1::int[], $2::text[]) k(environment, id) cross join lateral (
             select environment, ${REPORT_RUN_COLUMNS} from report_runs where environment = k.environment and id = k.id limit 1 for no key update) r`,
    values: [keys.map(({ environment }) => environment), keys.map(({ id }) => id)],
  })
  return rows
}

type FileOfRun = { id: string; type: FileType; isFinished: boolean }

/** The workflow that makes a file. */
export const fileWorkflowOf = (type: FileType) => (type === OF_CHARTS ? CHARTS_WORKFLOW : FILE_WORKFLOW)

/** The export that writes the file of a run that was started; null when retention has deleted it. */
export async function exportOf(db: Db, environment: Environment, run: string): Promise<FileOfRun | null> {
  const { rows } = await db.query<FileOfRun>({
    name: 'export-of-report-run',
    text: `select x.id, x.type, x.status in ('done', 'failed') as "isFinished"
           from report_runs r join exports x on x.environment = r.environment and x.id = r.export_id where r.environment = $1 and r.id = $2`,
    values: [environment, run],
  })
  return rows[0] ?? null
}

/** The reason of every destination of a run without a file. */
export const EXPORT_FAILED = 'export_failed'

/** Reasons that concern the whole report come first. */
const WITHHELD_ORDER: Withheld[] = ['report_deleted', 'report_paused', 'raw_data_off', 'destination_inactive']

/** The outcome of a run, from the states of its destinations; null while one is pending. */
export function outcomeOf(
  destinations: RunDestination[],
  rows: number | null,
): { outcome: ReportRunOutcome; reason: string | null } | null {
  const reasons = (status: RunDestination['status']) => destinations.flatMap(d => (d.status === status ? [d.reason] : []))
  if (reasons('pending').length > 0) return null
  const failed = reasons('failed')
  if (failed.length > 0) return { outcome: 'failed', reason: failed.includes(EXPORT_FAILED) ? EXPORT_FAILED : 'destination_failed' }
  const withheld = reasons('withheld')
  if (withheld.length > 0) return { outcome: 'withheld', reason: WITHHELD_ORDER.find(reason => withheld.includes(reason)) ?? withheld[0]! }
  return { outcome: rows === 0 ? 'empty' : 'delivered', reason: null }
}

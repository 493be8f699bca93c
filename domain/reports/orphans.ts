import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { recreateRun, unfinishedRunExists } from '../jobs/workflow-run.ts'
import {
  DELIVERY_WORKFLOW,
  deliverySubject,
  EXPORT_FAILED,
  exportOf,
  FILE_WORKFLOW,
  REPORT_WORKFLOW,
  RUN_COLUMNS,
  type RunRow,
} from './run.ts'
import { finish, settleAll } from './settle.ts'

const PENDING = `jsonb_path_exists(s.destinations, '$[*] ? (@.status == "pending")')`
const UNPROMISED = `exists (select 1 from jsonb_array_elements(s.destinations) d
  where d ->> 'status' = 'pending' and not ${unfinishedRunExists(DELIVERY_WORKFLOW, 's.environment', `s.id || ':' || (d ->> 'id')`)})`

/** In SQL: whether nothing will ever move the unfinished report run `s`, or one of its destinations. */
export const IS_ORPHANED_RUN = `case s.status when 'pending' then not ${unfinishedRunExists(REPORT_WORKFLOW, 's.environment', 's.id')}
  else not ${unfinishedRunExists(FILE_WORKFLOW, 's.environment', 's.id')} and (${UNPROMISED} or not ${PENDING}) end`

type Held = RunRow & { environment: Environment }

/** Promises what the runs lack, if they still do: their start, their file, or the deliveries that are not under way. Gives how many were mended. */
export async function mendReportRuns(tx: Tx, ids: string[]): Promise<number> {
  const held = await tx.query<Held>(
    `select environment, ${RUN_COLUMNS} from report_runs where status <> 'finished' and id = any ($1) order by environment, id for no key update`,
    [ids],
  )
  // Looked at once more under the lock: whoever moves a run on, or ends it, holds it.
  const orphaned = await tx.query<{ id: string }>(
    `select id from report_runs s where s.status <> 'finished' and id = any ($1) and ${IS_ORPHANED_RUN}`,
    [held.rows.map(({ id }) => id)],
  )
  const still = new Set(orphaned.rows.map(({ id }) => id))
  for (const run of held.rows) if (still.has(run.id)) await mend(tx, run)
  return still.size
}

async function mend(tx: Tx, run: Held): Promise<void> {
  const { environment, id } = run
  if (run.status === 'pending') {
    await recreateRun(tx, environment, { ...REPORT_WORKFLOW, subject: id })
    return
  }
  const file = await exportOf(tx, environment, id)
  // With the number of its rows a run knows that its file was made; the file may be gone by then.
  if (run.rows === null && !file?.isFinished) {
    await recreateRun(tx, environment, { ...FILE_WORKFLOW, subject: id })
    return
  }
  const { rows } = await tx.query<{ status: string; rows_written: number }>(
    'select status, rows_written from exports where environment = $1 and id = $2',
    [environment, run.export_id],
  )
  if (run.rows === null && rows[0]?.status === 'failed') {
    await settleAll(tx, environment, id, 'failed', EXPORT_FAILED)
    return
  }
  const written = run.rows ?? rows[0]?.rows_written ?? null
  await tx.query('update report_runs set rows = $3 where environment = $1 and id = $2', [environment, id, written])
  const missing = await tx.query<{ subject: string }>(
    `select k.subject from unnest($2::text[]) k(subject) where not ${unfinishedRunExists(DELIVERY_WORKFLOW, '$1', 'k.subject')}`,
    [environment, run.destinations.filter(({ status }) => status === 'pending').map(destination => deliverySubject(id, destination.id))],
  )
  for (const { subject } of missing.rows) await recreateRun(tx, environment, { ...DELIVERY_WORKFLOW, subject })
  // Which ends it, should none be pending.
  await finish(tx, environment, { ...run, rows: written })
}

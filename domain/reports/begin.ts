import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { isRawDataOn, recordExport } from '../exports/create.ts'
import { createRun } from '../runs/create.ts'
import { DELIVERY_WORKFLOW, deliverySubject, holdRun } from './run.ts'
import { finish, settleAll } from './settle.ts'

/** Starts a run: its window is cut and the export recorded that makes its file; gives the export's id, null when there will be none. */
export async function beginReport(tx: Tx, environment: Environment, id: string): Promise<string | null> {
  const { rows } = await tx.query<{ format: 'csv' | 'json' | 'ndjson' | 'parquet'; window_from: string; window_to: string }>(
    `update report_runs r set status = 'running', started_at = t.now,
       late_by_seconds = coalesce(greatest(0, floor(extract(epoch from t.now - r.slot))), 0)
     from scheduled_reports p, environment_now($1) t(now)
     where r.environment = $1 and r.id = $2 and r.status = 'pending' and p.environment = r.environment and p.id = r.report_id
     returning p.format, r.window_from::text, r.window_to::text`,
    [environment, id],
  )
  const run = rows[0]
  if (!run) return null
  if (!(await isRawDataOn(tx, environment))) {
    await settleAll(tx, environment, id, 'withheld', 'raw_data_off')
    return null
  }
  const { id: file } = await recordExport(tx, environment, {
    type: 'events',
    format: run.format,
    compression: 'none',
    platform: null,
    from: run.window_from,
    to: run.window_to,
    reportRun: id,
  })
  await tx.query('update report_runs set export_id = $3 where environment = $1 and id = $2', [environment, id, file])
  return file
}

/** The file is there: every destination gets a promise of its own, so that none waits for the attempts of another. */
export async function promiseDeliveries(tx: Tx, environment: Environment, id: string): Promise<void> {
  const run = await holdRun(tx, environment, id)
  if (!run || run.status === 'finished') return
  const { rows } = await tx.query<{ rows: number }>(
    `update report_runs r set rows = x.rows_written from exports x
     where r.environment = $1 and r.id = $2 and x.environment = r.environment and x.id = r.export_id returning r.rows`,
    [environment, id],
  )
  for (const { id: destination } of run.destinations.filter(({ status }) => status === 'pending'))
    await createRun(tx, environment, { ...DELIVERY_WORKFLOW, subject: deliverySubject(id, destination) })
  await finish(tx, environment, { ...run, rows: rows[0]?.rows ?? null })
}

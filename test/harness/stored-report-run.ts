import { recordExport } from '../../domain/reporting/exports/create.ts'
import { publishExport } from '../../domain/reporting/exports/finish.ts'
import type { Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'

/** Ends a run as if its file had been built, empty, and delivered to every destination. */
export const finishReportRun = (pool: Pool, run: string): Promise<void> =>
  transaction(pool, async tx => {
    const { rows } = await tx.query<{ environment: number; from: string; to: string }>(
      'select environment, window_from::text as from, window_to::text as to from report_runs where id = $1 for update',
      [run],
    )
    const { environment, from, to } = rows[0]!
    const kind = { type: 'events', format: 'csv', compression: 'none', platform: null } as const
    const { id } = await recordExport(tx, environment, { ...kind, from, to, reportRun: run })
    await publishExport(tx, environment, id, { parts: [], bytes: 0, sha256: '0'.repeat(64) })
    await tx.query(
      `update report_runs set status = 'finished', outcome = 'empty', rows = 0, export_id = $2, started_at = t, finished_at = t,
         destinations = (select jsonb_agg(d || '{"status":"delivered","attempts":1}') from jsonb_array_elements(destinations) d)
       from environment_now($3) t where id = $1`,
      [run, id, environment],
    )
    await tx.query(`delete from due d using runs r where d.kind = r.workflow and d.id = r.id and r.environment = $1 and r.subject = $2`, [
      environment,
      run,
    ])
  })

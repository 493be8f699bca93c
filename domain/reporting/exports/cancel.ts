import type { Tx } from '../../../store/connect.ts'
import { cancelRuns, createRun, lockJobsOfRuns } from '../../durable/jobs/workflow-run.ts'
import { announceLive } from '../../durable/live.ts'
import type { Environment } from '../../kernel/environment.ts'
import { conflict, notFound } from '../../kernel/refusal.ts'
import { EXPORT_WORKFLOW } from './create.ts'
import { EXPORT_COLUMNS, type ExportRow, getExport } from './export.ts'
import { AFTER_WRITER_SECONDS, RETENTION_WORKFLOW } from './finish.ts'
import { deleteMembers } from './members.ts'

/**
 * Cancels an unfinished export. Whoever records for an export locks the job of its run first, then the export; this transaction too. So either the
 * export was published before, or nobody publishes it. A worker that writes a part notices within its lease that the job is gone: retention
 * removes the parts after that. `before` is null when the export was cancelled already. Throws `conflict` when it has ended otherwise, and for the
 * file of a report's run, which ends with its run.
 */
export async function cancelExport(tx: Tx, environment: Environment, id: string): Promise<{ before: ExportRow | null; after: ExportRow }> {
  const { workflow } = EXPORT_WORKFLOW
  await lockJobsOfRuns(tx, 'select id from runs where environment = $1 and subject = $2 and workflow = $3', [environment, id, workflow])
  const { rows } = await tx.query<ExportRow>(`select ${EXPORT_COLUMNS} from exports where environment = $1 and id = $2 for no key update`, [
    environment,
    id,
  ])
  const [before] = rows
  if (!before) throw notFound('export')
  if (before.status === 'cancelled') return { before: null, after: await getExport(tx, environment, id) }
  if (before.status === 'done' || before.status === 'failed') throw conflict(`the export has ended: it is ${before.status}`)
  if (before.report_run !== null)
    throw conflict('the export is the file of a scheduled report: its run ends when the report is deleted or set to draft')
  await cancelRuns(tx, environment, workflow, [id])
  await tx.query(`update exports set status = 'cancelled' where environment = $1 and id = $2`, [environment, id])
  await deleteMembers(tx, environment, id)
  await createRun(tx, environment, { ...RETENTION_WORKFLOW, subject: id, afterSeconds: AFTER_WRITER_SECONDS })
  announceLive(tx, 'exports', environment)
  return { before, after: await getExport(tx, environment, id) }
}

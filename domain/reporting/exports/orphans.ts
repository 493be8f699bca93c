import type { Tx } from '../../../store/connect.ts'
import { lockInOrder, textKeys } from '../../../store/lock-in-order.ts'
import { recreateRun, unfinishedRunExists } from '../../durable/jobs/workflow-run.ts'
import type { Environment } from '../../kernel/environment.ts'
import { EXPORT_WORKFLOW } from './create.ts'
import { failExport } from './finish.ts'

/** SQL: whether no run will end the unfinished export `s`. A report run ends its own exports until it is finished. */
export const IS_ORPHANED_EXPORT = `not ${unfinishedRunExists(EXPORT_WORKFLOW, 's.environment', 's.id')} and not exists (
  select 1 from report_runs p where p.environment = s.environment and p.id = s.report_run and p.status <> 'finished')`

/** Starts the run of each orphaned export anew, from the beginning; fails exports of report runs that have finished. Returns their number. */
export async function repairExports(tx: Tx, ids: string[]): Promise<number> {
  await tx.query(
    lockInOrder({ table: 'exports', key: 'id', keys: textKeys('$1'), where: `status in ('new', 'processing')`, strength: 'no key update' }),
    [ids],
  )
  const { rows } = await tx.query<{ environment: Environment; id: string; report_run: string | null }>(
    `select environment, id, report_run from exports s where status in ('new', 'processing') and id = any ($1) and ${IS_ORPHANED_EXPORT} order by id`,
    [ids],
  )
  for (const { environment, id, report_run } of rows)
    if (report_run === null) await recreateRun(tx, environment, { ...EXPORT_WORKFLOW, subject: id })
    else await failExport(tx, environment, id, { code: 'unknown_error', message: 'the report ended before the file was written' })
  return rows.length
}

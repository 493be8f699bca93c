import { startReportRun } from '../../domain/reporting/reports/begin-runs.ts'
import { scheduleReportDeliveries } from '../../domain/reporting/reports/publish-files.ts'
import { EXPORT_FAILED, exportOf, FILE_WORKFLOW, REPORT_WORKFLOW } from '../../domain/reporting/reports/run.ts'
import { settleAllDestinations } from '../../domain/reporting/reports/settle.ts'
import { StopRetrying } from '../engine/policy.ts'
import type { Workflow } from '../engine/workflow.ts'
import { type ExportDeps, failFile, makeFile } from '../export/export.ts'

/** Each run is one transaction. */
const STARTS = 8
/** Enough runs for large statements; few of them write at the same time (`file-group.ts`). */
const FILES = 64

/**
 * Starts the run of a slot, or of a test. Its file is another run, so that thousands of slots of one minute start in time, however long
 * their files take.
 */
export const scheduledReport: Workflow = {
  kind: REPORT_WORKFLOW.workflow,
  version: REPORT_WORKFLOW.version,
  concurrency: STARTS,
  run: context => context.transact('start', tx => startReportRun(tx, context.environment, context.subject)),
  failed: (tx, environment, run) => settleAllDestinations(tx, environment, run, 'failed', EXPORT_FAILED),
}

/**
 * Makes the file by the steps of an export and schedules its deliveries: one run for each destination, so that no destination waits for
 * the attempts of another. From then on the deliveries end the report's run.
 */
export const reportFile = (deps: ExportDeps): Workflow => ({
  kind: FILE_WORKFLOW.workflow,
  version: FILE_WORKFLOW.version,
  concurrency: FILES,

  async run(context) {
    const { environment, subject: run } = context
    await makeFile(deps, context, {
      begin: steps =>
        steps.transact('export', async tx => {
          const file = await exportOf(tx, environment, run)
          if (!file) throw new StopRetrying('its export is deleted')
          return file.id
        }),
      published: steps => steps.transact('schedule-deliveries', tx => scheduleReportDeliveries(tx, [{ environment, id: run }])),
    })
  },

  async failed(tx, environment, run, error) {
    await settleAllDestinations(tx, environment, run, 'failed', EXPORT_FAILED)
    const file = await exportOf(tx, environment, run)
    if (file && !file.isFinished) await failFile(tx, environment, file.id, error)
  },
})

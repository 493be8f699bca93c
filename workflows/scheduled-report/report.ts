import { beginReport, promiseDeliveries } from '../../domain/reports/begin.ts'
import { EXPORT_FAILED } from '../../domain/reports/outcome.ts'
import { REPORT_WORKFLOW } from '../../domain/reports/run.ts'
import { settleAll } from '../../domain/reports/settle.ts'
import { unfinishedExport } from '../../domain/reports/unfinished-export.ts'
import type { Workflow } from '../engine/workflow.ts'
import { type ExportDeps, exportWorkflow } from '../export/export.ts'

/** Each has at most one connection in its hands. */
const CONCURRENCY = 4

/**
 * Makes the file of a slot, or of a test, by the steps of an export, and hands it to the deliveries: one run for each destination, so that
 * none waits for the attempts of another. From then on they are the ones who end the report's run.
 */
export function scheduledReport(deps: ExportDeps): Workflow {
  const exporting = exportWorkflow(deps)
  return {
    kind: REPORT_WORKFLOW.workflow,
    version: REPORT_WORKFLOW.version,
    concurrency: CONCURRENCY,

    async run(context) {
      const { environment, subject: run } = context
      const file = await context.transact('start', tx => beginReport(tx, environment, run))
      if (file === null) return
      await exporting.run({ ...context, subject: file })
      await context.transact('promise-deliveries', tx => promiseDeliveries(tx, environment, run))
    },

    async failed(tx, environment, run, error) {
      await settleAll(tx, environment, run, 'failed', EXPORT_FAILED)
      const file = await unfinishedExport(tx, environment, run)
      if (file !== null) await exporting.failed(tx, environment, file, error)
    },
  }
}

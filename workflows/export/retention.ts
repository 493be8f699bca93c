import { deleteExport, RECORD_AFTER_FILE_SECONDS, RETENTION_WORKFLOW } from '../../domain/exports/finish.ts'
import type { FileStorage } from '../../store/files/storage.ts'
import type { Workflow } from '../engine/workflow.ts'

/** Falls due when the file of a finished export expires: removes the file, and its record 83 days later. */
export const exportRetention = ({ storage }: { storage: FileStorage }): Workflow => ({
  kind: RETENTION_WORKFLOW.workflow,
  version: RETENTION_WORKFLOW.version,
  concurrency: 4,

  async run(context) {
    await context.step('remove-file', () => storage.remove(context.subject))
    await context.sleep('keep-record', RECORD_AFTER_FILE_SECONDS)
    await context.transact('remove-record', tx => deleteExport(tx, context.environment, context.subject))
  },

  // A file that cannot be removed blocks no other work; the run's failure is counted and logged.
  failed: async () => {},
})

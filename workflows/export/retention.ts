import { deleteExport, RETENTION_WORKFLOW, recordFileRemoved, removeLater } from '../../domain/reporting/exports/finish.ts'
import type { FileStorage } from '../../store/files/storage.ts'
import type { Workflow } from '../engine/workflow.ts'

/** Falls due when the file of a finished export expires: removes the file, and its record 83 days later. */
export const exportRetention = ({ storage }: { storage: FileStorage }): Workflow => ({
  kind: RETENTION_WORKFLOW.workflow,
  version: RETENTION_WORKFLOW.version,
  concurrency: 4,

  async run(context) {
    const { environment, subject } = context
    await context.step('remove-file', () => storage.remove(subject))
    const seconds = await context.transact('file-removed', tx => recordFileRemoved(tx, environment, subject))
    await context.sleep('keep-record', seconds)
    // A worker that stood still for long may have written a part after the first removal. Without the record nobody finds that part.
    await context.step('remove-rest', () => storage.remove(subject))
    await context.transact('remove-record', tx => deleteExport(tx, environment, subject))
  },

  failed: (tx, environment, subject) => removeLater(tx, environment, subject, { ...RETENTION_WORKFLOW, subject }),
})

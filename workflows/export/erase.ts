import type { Pseudonyms } from '../../domain/projects/secrets.ts'
import { ERASE_WORKFLOW, exportToErase } from '../../domain/reporting/exports/erasure.ts'
import { recordRemoved, removeLater } from '../../domain/reporting/exports/finish.ts'
import { erasureState, replaceFile } from '../../domain/reporting/exports/rewrite.ts'
import type { Pool, Tx } from '../../store/connect.ts'
import type { FileStorage } from '../../store/files/storage.ts'
import type { Workflow } from '../engine/workflow.ts'
import { clearAway, rewriteFile } from './rewrite-file.ts'

/** Each run reads a file as fast as a disk and a core allow: one for each project. */
const CONCURRENCY = 2
const LOOK_AGAIN_SECONDS = 5
const LONGEST_WAIT_SECONDS = 60
/** Text is read and rewritten at about 50 MB/s: time for 180 GB. */
const REWRITE_LIMIT_MS = 3_600_000

/**
 * Removes the rows of an erased user from a finished file, and the rows of all other users whose erasure from it is waiting at that moment.
 * The new parts become the file in one statement, and only if the file is still the one that was read: when two runs rewrite a file at
 * once, the later one begins again from the file of the other.
 */
export const eraseExport = ({ pool, storage, secrets }: { pool: Pool; storage: FileStorage; secrets: Pseudonyms }): Workflow => ({
  kind: ERASE_WORKFLOW.workflow,
  version: ERASE_WORKFLOW.version,
  concurrency: CONCURRENCY,

  async run(context) {
    const { environment, run } = context
    const { exportId: file, pseudonym } = exportToErase(context.subject)
    const replaced: string[] = []
    const record = async (tx: Tx) => void (await recordRemoved(tx, environment, file))
    for (let n = 1; ; n++) {
      const state = await context.transact(`look-${n}`, tx => erasureState(tx, environment, file, pseudonym))
      if (state === 'over') break
      if (state === 'unfinished') {
        // Its parts may have begun before the erasure.
        await context.sleep(`wait-${n}`, Math.min(n * LOOK_AGAIN_SECONDS, LONGEST_WAIT_SECONDS))
        continue
      }
      if (state === 'useless') {
        await context.step('remove-file', () => storage.remove(file), { record })
        return
      }
      const made = await context.step(
        `rewrite-${n}`,
        ({ signal, fence }) => rewriteFile({ pool, storage, secrets, environment, file, mark: `${run}-${n}.${fence}`, signal }),
        { limitMs: REWRITE_LIMIT_MS },
      )
      if (made === null) continue
      replaced.push(...made.replaced)
      await context.transact(`replace-${n}`, tx => replaceFile(tx, environment, file, made))
    }
    await context.step('clear-away', () => clearAway({ pool, storage, environment, file, run, replaced }), { record })
  },

  // The erasure of the rows was confirmed to the caller.
  failed: (tx, environment, subject) => removeLater(tx, environment, exportToErase(subject).exportId, { ...ERASE_WORKFLOW, subject }),
})

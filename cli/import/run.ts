import { CliError } from '../failure.ts'
import { batches, type ImportBatch, type Rejection } from './batches.ts'
import type { ToItem } from './item.ts'
import type { PostedRows } from './post.ts'
import type { Progress } from './progress.ts'
import type { Rejects } from './rejects.ts'
import { type FileIdentity, identify, readRows } from './rows.ts'
import { type ImportState, writeState } from './state.ts'

export type Run = {
  file: FileIdentity
  delimiter: string
  item: ToItem
  /** Takes a batch to where it belongs. `signal` aborts the other requests when one request fails. */
  post: (batch: ImportBatch, signal: AbortSignal) => Promise<PostedRows>
  /** Rows per request. */
  size: number
  /** Requests at once. With one, the log has the events in the order of the file. With more, batches may be stored in another order. */
  parallel: number
  /** Updated and written after each batch. */
  state: ImportState
  statePath: string
  rejects: Rejects
  progress: Progress
  onRejected: (rejections: Rejection[]) => void
  signal: AbortSignal
}

/** Posts the rest of the file. The state always covers the first batches without a gap, even if later batches are already posted. */
export async function importRest(run: Run): Promise<void> {
  const { file, delimiter, state, statePath, rejects, progress } = run
  const failed = new AbortController()
  const signal = AbortSignal.any([run.signal, failed.signal])
  const inProgress: { batch: ImportBatch; posted: Promise<PostedRows> }[] = []

  async function settle(): Promise<void> {
    const { batch, posted } = inProgress[0]!
    const { created, duplicates, rejections } = await posted
    inProgress.shift()
    const rejectsBytes = await rejects.add(rejections)
    state.rows = batch.last
    state.end = batch.end
    state.created += created
    state.duplicates += duplicates
    state.rejected += rejections.length
    state.rejectsBytes = rejectsBytes
    await writeState(statePath, state)
    run.onRejected(rejections)
    progress.update(state.rows, state.end)
  }

  try {
    const rows = readRows(file.path, delimiter, { n: state.rows, end: state.end })
    for await (const batch of batches(rows, run.item, run.size)) {
      run.signal.throwIfAborted()
      if (inProgress.length >= run.parallel) await settle()
      const posted = run.post(batch, signal)
      posted.catch(() => undefined) // settle() handles the error
      inProgress.push({ batch, posted })
    }
    while (inProgress.length > 0) await settle()
  } finally {
    failed.abort()
    await Promise.allSettled(inProgress.map(({ posted }) => posted))
  }
  const now = await identify(file.path)
  if (now.size !== file.size || now.modified !== file.modified)
    throw new CliError(`${file.path} was changed during the import: run the same command again, nothing is stored twice`)
  state.isFinished = true
  await writeState(statePath, state)
}

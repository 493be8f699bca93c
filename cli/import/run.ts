import { CliError } from '../failure.ts'
import { type Batch, batches, type Rejection } from './batches.ts'
import type { ToItem } from './item.ts'
import { type Posted, post } from './post.ts'
import type { Progress } from './progress.ts'
import type { Rejects } from './rejects.ts'
import { type FileIdentity, identify, readRows } from './rows.ts'
import type { Send } from './send.ts'
import { type State, writeState } from './state.ts'

export type Run = {
  file: FileIdentity
  delimiter: string
  item: ToItem
  /** Given what ends the other requests when one fails. */
  send: (signal: AbortSignal) => Send
  trigger: boolean
  /** Rows per request. */
  size: number
  /** Requests at once. With one, the log has the events in the order of the file; with more, batches may change places. */
  parallel: number
  /** Changed and written as batches are done. */
  state: State
  statePath: string
  rejects: Rejects
  progress: Progress
  onRejected: (rejections: Rejection[]) => void
  signal: AbortSignal
}

/** Posts what is left of the file. The state always stands behind the first batches without a gap, whatever was posted beyond. */
export async function importRest(run: Run): Promise<void> {
  const { file, delimiter, state, statePath, rejects, progress } = run
  const failed = new AbortController()
  const send = run.send(AbortSignal.any([run.signal, failed.signal]))
  const underway: { batch: Batch; posted: Promise<Posted> }[] = []

  async function settle(): Promise<void> {
    const { batch, posted } = underway[0]!
    const { created, duplicates, rejections } = await posted
    underway.shift()
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
      if (underway.length >= run.parallel) await settle()
      const posted = post(send, batch, run.trigger)
      posted.catch(() => undefined) // looked at in its turn
      underway.push({ batch, posted })
    }
    while (underway.length > 0) await settle()
  } finally {
    failed.abort()
    await Promise.allSettled(underway.map(({ posted }) => posted))
  }
  const now = await identify(file.path)
  if (now.size !== file.size || now.modified !== file.modified)
    throw new CliError(`${file.path} was changed while it was read: give the same command again, nothing is stored twice`)
  state.isFinished = true
  await writeState(statePath, state)
}

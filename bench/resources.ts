import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { say } from './report.ts'

/** Where a bench stands: a folder of its own, and what must be undone when it ends, however it ends. */
export type Ground = {
  folder: string
  /** Undone in reverse order. */
  undo(step: () => Promise<unknown>): void
}

/** How long work that was interrupted may take to notice. */
const NOTICE_MS = 20_000

/** Runs the work on a ground of its own and clears it away: at the end, after a failure, on Ctrl-C and SIGTERM. */
export async function onGround<T>(work: (ground: Ground) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'perennial-bench-'))
  const steps: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })]
  let isOver = false
  const clear = async () => {
    isOver = true
    while (steps.length > 0) await steps.pop()!().catch(error => say(`clearing away: ${error}`))
  }
  const undo = (step: () => Promise<unknown>) => {
    steps.push(step)
    // It was being started when the end came.
    if (isOver) throw new Error('interrupted')
  }
  let working: Promise<unknown> = Promise.resolve()
  const interrupted = async (signal: NodeJS.Signals) => {
    if (isOver) return
    say(`${signal}: clearing away`)
    const notice = setTimeout(() => process.exit(130), NOTICE_MS)
    await clear()
    await working.catch(() => {})
    await clear()
    clearTimeout(notice)
    process.exit(130)
  }
  process.on('SIGINT', interrupted).on('SIGTERM', interrupted)
  try {
    const running = work({ folder, undo })
    working = running
    return await running
  } finally {
    // The interruption clears away by itself and ends the process.
    if (isOver) await new Promise(() => {})
    await clear()
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted)
  }
}

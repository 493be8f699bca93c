import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { say } from './report.ts'

/** The resources of one bench: its temporary folder, and the steps that release everything else when the bench ends. */
export type Resources = {
  folder: string
  /** Adds a step; the steps run in reverse order. Throws when the bench has been interrupted: the resource came too late, but is released. */
  undo(step: () => Promise<unknown>): void
}

/** How long interrupted work may take to stop. */
const NOTICE_MS = 20_000

/** Runs the work with new resources and releases them: at the end, after a failure, on Ctrl-C and SIGTERM. */
export async function withResources<T>(work: (resources: Resources) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'perennial-bench-'))
  const steps: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })]
  let isReleased = false
  const release = async () => {
    isReleased = true
    while (steps.length > 0) await steps.pop()!().catch(error => say(`release failed: ${error}`))
  }
  const undo = (step: () => Promise<unknown>) => {
    steps.push(step)
    if (isReleased) throw new Error('interrupted')
  }
  let working: Promise<unknown> = Promise.resolve()
  const interrupted = async (signal: NodeJS.Signals) => {
    if (isReleased) return
    say(`${signal}: releasing resources`)
    const notice = setTimeout(() => process.exit(130), NOTICE_MS)
    await release()
    await working.catch(() => {})
    await release()
    clearTimeout(notice)
    process.exit(130)
  }
  process.on('SIGINT', interrupted).on('SIGTERM', interrupted)
  try {
    const running = work({ folder, undo })
    working = running
    return await running
  } finally {
    // `interrupted` releases the resources itself and ends the process.
    if (isReleased) await new Promise(() => {})
    await release()
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted)
  }
}

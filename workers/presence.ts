import { randomUUID } from 'node:crypto'
import { forgetWorker, noteWorker } from '../domain/durable/jobs/workers.ts'
import type { Pool } from '../store/connect.ts'

const PERIOD_MS = 15_000

/**
 * Tells the other processes which kinds of jobs this process executes, as long as it lives. After a failure the next repetition corrects
 * the record.
 */
export function startPresence(pool: Pool, kinds: readonly string[]) {
  const id = randomUUID()
  const note = () => noteWorker(pool, id, kinds).catch(() => {})
  let current = note()
  const timer = setInterval(() => {
    current = note()
  }, PERIOD_MS)
  return {
    async stop(): Promise<void> {
      clearInterval(timer)
      await current
      await forgetWorker(pool, id).catch(() => {})
    },
  }
}

import type { Logger } from 'pino'
import { foldBatch, foldParts } from '../domain/analytics/folding/fold-batch.ts'
import { markedEnvironments } from '../domain/durable/marks/mark.ts'
import type { Environment } from '../domain/kernel/environment.ts'
import type { Pool } from '../store/connect.ts'
import { type AtCrashPoint, NOWHERE } from '../workflows/engine/crash-point.ts'
import { periodic } from './periodic.ts'
import { turns } from './turns.ts'

/** Interval of a regular check. It finds marks whose notification was lost, and marks of users whom another transaction had locked. */
const PERIOD_MS = 1_000
/** Environments that are folded at the same time. */
const FOLDERS = 2

export type FactFoldsOptions = { pool: Pool; log: Logger; at?: AtCrashPoint }

/** Keeps the facts of figures up to date: folds marked users, the environments in turn. A turn is one batch, or two beside each other where the last batch was full. */
export function startFactFolds({ pool, log, at = NOWHERE }: FactFoldsOptions) {
  // Environments whose last batch was full.
  const behind = new Set<Environment>()
  const line = turns<Environment>(FOLDERS, async environment => {
    try {
      const { isFull, failed } = await (behind.delete(environment) ? foldParts : foldBatch)(pool, environment)
      if (isFull) behind.add(environment)
      at('folded')
      for (const { no, error } of failed) log.error({ environment, user: no, why: error }, 'the facts of a user cannot be folded')
      return { again: isFull }
    } catch (error) {
      log.warn({ err: error, environment }, 'folding facts failed')
      return { again: false }
    }
  })
  const wake = (environment: Environment): void => line.wake(String(environment), environment)
  const looking = periodic({
    periodMs: PERIOD_MS,
    work: async () => {
      for (const environment of await markedEnvironments(pool)) wake(environment)
    },
    onFailure: error => log.warn({ err: error }, 'looking for marked users failed'),
  })
  return {
    wake,
    /** Checks for marks. */
    wakeAll: looking.begin,
    async stop(): Promise<void> {
      await Promise.all([line.stop(), looking.stop()])
    },
  }
}

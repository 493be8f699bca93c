import { pino } from 'pino'
import type { Pool } from '../../store/connect.ts'
import { type ExecutorOptions, executor } from '../../workers/executor.ts'
import type { JobHandler } from '../../workflows/engine/handler.ts'

/** An executor of one kind, without the worker around it. */
export const executorOn = (pool: Pool, handler: JobHandler, options: Partial<ExecutorOptions> = {}) =>
  executor({
    pool,
    heartbeatPool: pool,
    handlers: [handler],
    leaseMs: 60_000,
    log: pino({ level: 'silent' }),
    onOutcome: () => {},
    onChanged: () => {},
    onClaimed: () => {},
    at: () => {},
    ...options,
  })

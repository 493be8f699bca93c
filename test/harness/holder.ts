import { pino } from 'pino'
import type { Pool } from '../../store/connect.ts'
import { type HolderOptions, holder } from '../../workers/executor.ts'
import type { Performer } from '../../workflows/engine/handler.ts'

/** A holder of one kind, without the worker around it. */
export const holderOn = (pool: Pool, performer: Performer, options: Partial<HolderOptions> = {}) =>
  holder({
    pool,
    beating: pool,
    performers: [performer],
    leaseMs: 60_000,
    log: pino({ level: 'silent' }),
    onOutcome: () => {},
    onClaimed: () => {},
    at: () => {},
    ...options,
  })

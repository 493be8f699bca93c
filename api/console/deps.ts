import type { Logger } from 'pino'
import type { AnswerCheck } from '../answered.ts'
import type { RateLimit } from '../rate-limit.ts'
import type { Readiness } from '../readiness.ts'
import type { ExecutionDeps } from '../run.ts'
import type { SessionDeps } from '../sign-in/session.ts'

/** What the addresses of the console need. */
export type ConsoleDeps = ExecutionDeps &
  SessionDeps & {
    log: Logger
    checkAnswer: AnswerCheck
    readiness: Readiness
    dataDir: string
    /** Of a session, in one process. */
    sessionRateLimit: RateLimit
  }

import type { Logger } from 'pino'
import type { ApiDeps } from '../operation.ts'
import type { RateLimit } from '../rate-limit.ts'
import type { Readiness } from '../readiness.ts'
import type { AnswerCheck } from '../run.ts'
import type { SessionDeps } from '../sign-in/session.ts'

/** What the addresses of the console need. */
export type ConsoleDeps = ApiDeps &
  SessionDeps & {
    log: Logger
    checkAnswer: AnswerCheck
    readiness: Readiness
    dataDir: string
    /** Of a session, in one process. */
    sessionRateLimit: RateLimit
  }

import type { Logger } from 'pino'
import type { ApiDeps } from '../operation.ts'
import type { AnswerCheck } from '../run.ts'
import type { SessionDeps } from '../sign-in/session.ts'

/** What the addresses of the console need. */
export type ConsoleDeps = ApiDeps & SessionDeps & { log: Logger; checkAnswer: AnswerCheck }

import type { Readable } from 'node:stream'
import type { SignedIn } from '../../domain/operators/session.ts'
import type { ConsoleAnswer, ConsoleId, ConsoleInput } from '../../schemas/console/operation-types.ts'
import type { OperationDescription } from '../../schemas/generated/console/operations.ts'
import type { Pool } from '../../store/connect.ts'
import type { Readiness } from '../readiness.ts'
import type { LiveHub } from './live/hub.ts'

/**
 * `build`: of the pages that are served now. `removeCookie`: of the session, from the browser. `stream`: is the answer, in the place of JSON; it goes on
 * after the operation.
 */
export type ConsoleCaller = {
  who: SignedIn
  pool: Pool
  checks: Pool
  build: () => Promise<string | null>
  removeCookie: () => void
  live: LiveHub
  readiness: Readiness
  dataDir: string
  stream: (body: Readable) => void
}

/** What the pages ask beside the operations of v4, for somebody who is signed in. */
export type ConsoleOperation<Id extends ConsoleId = ConsoleId> = {
  id: Id
  answer: (call: ConsoleInput<Id> & ConsoleCaller) => Promise<ConsoleAnswer<Id>>
}

export type ConsoleRoute = { description: OperationDescription; operation: ConsoleOperation }

export const inSession = <Id extends ConsoleId>(id: Id, answer: ConsoleOperation<Id>['answer']): ConsoleOperation<Id> => ({ id, answer })

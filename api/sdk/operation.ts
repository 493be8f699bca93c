import type { Logger } from 'pino'
import type { AppUser, ReportedTraits } from '../../domain/audience/customers/app-user.ts'
import type { Trail } from '../../domain/kernel/audit/record.ts'
import type { EnvironmentKind } from '../../domain/kernel/environment.ts'
import type { KeyOwner } from '../../domain/projects/keys.ts'
import type { SdkAnswer, SdkId, SdkInput } from '../../schemas/sdk/operation-types.ts'
import type { Pool } from '../../store/connect.ts'
import type { ApiDeps } from '../operation.ts'
import type { StatementTurn } from '../request-turns.ts'

/** The recent requests of this process to Apple: until when none is repeated, by user and transaction. */
export type CheckedReceipts = Map<string, number>

/** The two stores that SDKs sell in. */
export type SdkPlatform = 'iOS' | 'Android'

/**
 * A request on a user, who exists and acts in its environment. `reported`: what the request tells of the app; `trigger`: what the SDK asks for.
 * `checkedReceipts`: of this process.
 * The handler takes a turn for each group of statements, so that none is held during a fetch from a store.
 */
export type SdkCaller = {
  owner: KeyOwner
  user: AppUser
  reported: ReportedTraits
  trigger: string | undefined
  environment: number
  environmentKind: EnvironmentKind
  trail: Trail & { environment: number }
  deps: ApiDeps
  log: Logger
  checkedReceipts: CheckedReceipts
  db: Pool
  inTurn: StatementTurn
}

export type SdkCall<Id extends SdkId> = SdkInput<Id> & SdkCaller

/** `needsPlatform`: its input has ids of products of a store. `userOf`: the user whom the input names; undefined: the header names the user. */
export type SdkOperation<Id extends SdkId = SdkId> = {
  id: Id
  userOf: (input: SdkInput<Id>) => unknown
} & (
  | { creates: false; handle: (call: SdkCall<Id>) => Promise<SdkAnswer<Id>> }
  | { creates: true; needsPlatform: false; handle: (call: SdkCall<Id>) => Promise<SdkAnswer<Id>> }
  | { creates: true; needsPlatform: true; handle: (call: SdkCall<Id> & { platform: SdkPlatform }) => Promise<SdkAnswer<Id>> }
)

/** iOS adds both fields to each body. */
const userOfBody = ({ body }: { body: unknown }): unknown => {
  const { q_uid, client_uid } = body as { q_uid?: unknown; client_uid?: unknown }
  return q_uid === undefined || q_uid === '' ? client_uid : q_uid
}

/** An operation of the app of a user, who is created if there is none. */
export const inApp = <Id extends SdkId>(
  id: Id,
  handle: (call: SdkCall<Id> & { platform: SdkPlatform }) => Promise<SdkAnswer<Id>>,
): SdkOperation<Id> => ({ id, userOf: userOfBody, creates: true, needsPlatform: true, handle })

/** The same where no store matters. */
export const ofUser = <Id extends SdkId>(
  id: Id,
  handle: (call: SdkCall<Id>) => Promise<SdkAnswer<Id>>,
  userOf: (input: SdkInput<Id>) => unknown = userOfBody,
): SdkOperation<Id> => ({ id, userOf, creates: true, needsPlatform: false, handle })

/** An operation on a user who must exist. */
export const ofKnownUser = <Id extends SdkId>(
  id: Id,
  userOf: (input: SdkInput<Id>) => unknown,
  handle: (call: SdkCall<Id>) => Promise<SdkAnswer<Id>>,
): SdkOperation<Id> => ({ id, userOf, creates: false, handle })

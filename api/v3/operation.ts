import type { AppUser, ReportedTraits } from '../../domain/audience/customers/app-user.ts'
import type { Trail } from '../../domain/kernel/audit/record.ts'
import type { EnvironmentKind } from '../../domain/kernel/environment.ts'
import type { KeyOwner } from '../../domain/projects/keys.ts'
import type { V3Answer, V3Id, V3Input } from '../../schemas/v3/operation-types.ts'
import type { Pool } from '../../store/connect.ts'
import type { ApiDeps } from '../operation.ts'
import type { StatementTurn } from '../request-turns.ts'

/** `reported`: the traits of the app in the headers of the request. */
type Request = { owner: KeyOwner; reported: ReportedTraits; deps: ApiDeps; db: Pool }
/** Where an operation acts: in the environment of its user, else in that of the key. */
type Scope = { environment: number; environmentKind: EnvironmentKind; trail: Trail & { environment: number } }
export type V3Call<Id extends V3Id> = V3Input<Id> & Request & Scope
export type UserCall<Id extends V3Id> = V3Call<Id> & { user: AppUser }

/** The answer; `{}` if it is empty. Absent values are left out: no answer contains null. */
type Answer<Id extends V3Id> = Promise<V3Answer<Id>>

export type V3Operation<Id extends V3Id = V3Id> =
  | { id: Id; acts: 'at key'; handle: (call: V3Call<Id>) => Answer<Id> }
  | { id: Id; acts: 'on user'; handle: (call: UserCall<Id>) => Answer<Id> }
  | {
      id: Id
      acts: 'on user, in turns'
      /** Refuses inputs that the description accepts, before the user is looked up. The handler gets the result. */
      check: (input: V3Input<Id>) => unknown
      handle: (call: UserCall<Id> & { inTurn: StatementTurn; checked: never }) => Answer<Id>
    }

/** Both environments of the key's project. */
export const environmentsOf = ({ environment, otherEnvironment, environmentKind }: KeyOwner): Record<EnvironmentKind, number> =>
  environmentKind === 'production'
    ? { production: environment, sandbox: otherEnvironment }
    : { production: otherEnvironment, sandbox: environment }

/** An operation that needs no user. */
export const atKey = <Id extends V3Id>(id: Id, handle: (call: V3Call<Id>) => Answer<Id>): V3Operation<Id> => ({
  id,
  acts: 'at key',
  handle,
})

/** An operation on the user whom path or query names: 404 when there is none. */
export const onUser = <Id extends V3Id>(id: Id, handle: (call: UserCall<Id>) => Answer<Id>): V3Operation<Id> => ({
  id,
  acts: 'on user',
  handle,
})

/** The same for an operation that calls other systems: its statements take turns of their own, so that no turn is held meanwhile. */
export const onUserInTurns = <Id extends V3Id, Checked>(
  id: Id,
  check: (input: V3Input<Id>) => Checked,
  handle: (call: UserCall<Id> & { inTurn: StatementTurn; checked: Checked }) => Answer<Id>,
): V3Operation<Id> => ({ id, acts: 'on user, in turns', check, handle })

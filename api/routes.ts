import { descriptions, type OperationId } from '../schemas/generated/operations.ts'
import type { Route } from './dispatch.ts'
import type { Operation } from './operation.ts'
import * as events from './v4/events.ts'
import * as exports_ from './v4/exports.ts'
import * as identities from './v4/identities.ts'
import * as segments from './v4/segments.ts'
import * as userProperties from './v4/user-properties.ts'
import * as users from './v4/users.ts'

/** One handler for every operation of the description: a missing or ill-typed one fails the type check. */
const operations: { [Id in OperationId]: Operation<Id> } = {
  ...users,
  ...userProperties,
  ...identities,
  ...segments,
  ...events,
  ...exports_,
}

export const routes: Route[] = descriptions.map(description => ({ description, operation: operations[description.id] as Operation }))

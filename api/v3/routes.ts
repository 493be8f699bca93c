import { descriptions, type OperationId } from '../../schemas/generated/v3/operations.ts'
import * as actionPoints from './action-points.ts'
import type { V3Route } from './dispatch.ts'
import * as entitlements from './entitlements.ts'
import * as events from './events.ts'
import * as experiments from './experiments.ts'
import * as identities from './identities.ts'
import type { V3Operation } from './operation.ts'
import * as promotionalOffers from './promotional-offers.ts'
import * as purchases from './purchases.ts'
import * as remoteConfigurations from './remote-configurations.ts'
import * as screenEvents from './screen-events.ts'
import * as screens from './screens.ts'
import * as userProperties from './user-properties.ts'
import * as users from './users.ts'

/** One operation per entry of the description. A missing operation, or one of the wrong type, fails the type check. */
const operations: { [Id in OperationId]: V3Operation<Id> } = {
  ...actionPoints,
  ...entitlements,
  ...events,
  ...experiments,
  ...identities,
  ...promotionalOffers,
  ...purchases,
  ...remoteConfigurations,
  ...screenEvents,
  ...screens,
  ...userProperties,
  ...users,
}

export const v3Routes: V3Route[] = descriptions.map(description => ({ description, operation: operations[description.id] as V3Operation }))

import { descriptions, type OperationId } from '../../schemas/generated/sdk/operations.ts'
import * as attribution from './attribution.ts'
import type { SdkRoute } from './dispatch.ts'
import * as eligibility from './eligibility.ts'
import * as events from './events.ts'
import * as identities from './identities.ts'
import * as launch from './launch.ts'
import type { SdkOperation } from './operation.ts'

/** One operation per entry of the description. A missing operation, or one of the wrong type, fails the type check. */
const operations: { [Id in OperationId]: SdkOperation<Id> } = {
  ...attribution,
  ...eligibility,
  ...events,
  ...identities,
  ...launch,
}

export const sdkRoutes: SdkRoute[] = descriptions.map(description => ({
  description,
  operation: operations[description.id] as unknown as SdkOperation,
}))

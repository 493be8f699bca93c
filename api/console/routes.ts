import type { ConsoleId } from '../../schemas/console/operation-types.ts'
import { descriptions } from '../../schemas/generated/console/operations.ts'
import type { ConsoleOperation, ConsoleRoute } from './operation.ts'
import * as session from './session.ts'
import * as status from './status.ts'
import * as watch from './watch.ts'

/** One operation per entry of the description. A missing operation, or one of the wrong type, fails the type check. */
const operations: { [Id in ConsoleId]: ConsoleOperation<Id> } = { ...session, ...status, ...watch }

export const consoleRoutes: ConsoleRoute[] = descriptions.map(description => ({
  description,
  operation: operations[description.id] as unknown as ConsoleOperation,
}))

import type { GroupDefinition } from './definition.ts'
import { commandOf } from './program.ts'
import { recomputeCreatedAction } from './users/recompute-created.ts'

export const usersGroup: GroupDefinition = {
  name: 'users',
  summary: 'what is kept of the customers of a project',
  commands: [recomputeCreatedAction],
}

export const users = commandOf(usersGroup)

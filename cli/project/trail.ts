import type { Trail } from '../../domain/kernel/audit/record.ts'
import { actorOf, type CommandContext } from '../command.ts'

/** How the audit log names a change of a project by a command. */
export const projectTrail = ({ env }: CommandContext, project: number, name: string): Trail => ({
  project,
  environment: null,
  actor: actorOf(env),
  operation: `project ${name}`,
  requestId: null,
})

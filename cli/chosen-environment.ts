import type { EnvironmentKind } from '../domain/kernel/environment.ts'
import { listEnvironments } from '../domain/projects/environments.ts'
import type { Db } from '../store/connect.ts'
import type { OptionDefinition } from './definition.ts'
import { CliError, UsageError } from './failure.ts'

export type EnvironmentOptions = { project: string | undefined; sandbox: boolean }

/** The option of a command that an installation with one project needs not say more. */
export const ONE_PROJECT = {
  project: { value: 'PROJECT', says: 'the number of a project; needed if there is more than one' },
} as const satisfies Record<string, OptionDefinition>

/** The number after --project; null without it. */
export function projectNumber(given: string | undefined): number | null {
  if (given !== undefined && !/^\d{1,9}$/.test(given)) throw new UsageError('--project must be the number of a project')
  return given === undefined ? null : Number(given)
}

/** The environment that --project and --sandbox name. */
export async function environmentNamed(
  db: Db,
  { project: given, sandbox }: EnvironmentOptions,
): Promise<{ project: number; environment: number; kind: EnvironmentKind }> {
  const environments = await listEnvironments(db, projectNumber(given))
  if (environments.length === 0) throw new CliError(given === undefined ? 'there is no project' : `project ${given} not found`)
  if (new Set(environments.map(({ project }) => project)).size > 1)
    throw new UsageError('there is not just one project: name it with --project')
  const kind = sandbox ? 'sandbox' : 'production'
  const { project, id: environment } = environments.find(one => one.kind === kind)!
  return { project, environment, kind }
}

import type { Config } from '../../app/config.ts'
import { audit } from '../../domain/kernel/audit/record.ts'
import { Refusal } from '../../domain/kernel/refusal.ts'
import { type ListedOperator, operatorWith } from '../../domain/operators/accounts.ts'
import type { ProjectRole } from '../../domain/operators/roles.ts'
import { listEnvironments } from '../../domain/projects/environments.ts'
import type { Db, Tx } from '../../store/connect.ts'
import { projectNumber } from '../chosen-environment.ts'
import { actorOf, type CommandContext } from '../command.ts'
import { CliError, UsageError } from '../failure.ts'
import { printable } from '../table.ts'

export const EMAIL = { name: 'EMAIL', says: 'the e-mail address of an operator' }

/** The open account with the address. */
export async function operatorNamed(db: Db, email: string | undefined): Promise<ListedOperator> {
  if (email === undefined) throw new UsageError('which operator? "operator list" shows the addresses')
  const found = await operatorWith(db, { email })
  if (!found) throw new CliError(`${printable(email)}: there is no such operator`)
  return found
}

/** The project of --project, or the only one. */
export async function projectNamed(db: Db, given: string | undefined): Promise<number> {
  const environments = await listEnvironments(db, projectNumber(given))
  const projects = [...new Set(environments.map(({ project }) => project))]
  if (projects.length > 1) throw new UsageError('there is not just one project: name it with --project')
  if (projects[0] === undefined) throw new CliError(given === undefined ? 'there is no project' : `project ${given} not found`)
  return projects[0]
}

/** A refusal of the domain is a line for the caller. */
export const inWords = (error: unknown): never => {
  throw error instanceof Refusal ? new CliError(error.message) : error
}

type Change = { operator: Pick<ListedOperator, 'id' | 'email'>; before: string | null; after: string | null; operation: string }

/** The entry of a change of a role in one project; `null` is no role. */
export async function auditRole(
  tx: Tx,
  env: CommandContext['env'],
  project: number,
  { operator, before, after, operation }: Change,
): Promise<void> {
  const shown = (role: string | null) => (role === null ? null : { id: operator.id, email: operator.email, role })
  const trail = { project, environment: null, actor: actorOf(env), operation, requestId: null }
  await audit(tx, trail, { resource: 'operator', id: operator.id, before: shown(before), after: shown(after) })
}

/** An owner has every role in every project: each one gets the entry. */
export async function auditOwner(tx: Tx, env: CommandContext['env'], change: Change): Promise<void> {
  const projects = new Set((await listEnvironments(tx, null)).map(({ project }) => project))
  for (const project of projects) await auditRole(tx, env, project, change)
}

/** The roles that end with the account. */
export async function auditEnd(tx: Tx, env: CommandContext['env'], operator: ListedOperator, operation: string): Promise<void> {
  const roles = Object.entries(operator.roles) as [string, ProjectRole][]
  if (operator.is_owner) await auditOwner(tx, env, { operator, before: 'owner', after: null, operation })
  else for (const [project, before] of roles) await auditRole(tx, env, Number(project), { operator, before, after: null, operation })
}

/** Where the code of a link opens a page. What stands behind the # reaches no log and no proxy. */
export const joinLink = ({ publicUrl, port }: Config, code: string): string =>
  `${publicUrl ?? `http://localhost:${port}`}/console/join#${code}`

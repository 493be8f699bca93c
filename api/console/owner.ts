import type { EnvironmentKind } from '../../domain/kernel/environment.ts'
import { covers, type ProjectRole } from '../../domain/operators/roles.ts'
import type { SignedIn } from '../../domain/operators/session.ts'
import { roleAt, type SessionOwner } from '../../domain/operators/session-owner.ts'
import { SCOPES } from '../../schemas/generated/operations.ts'
import type { Pool } from '../../store/connect.ts'
import { Problem } from '../errors.ts'

/** What each role may do. */
const scopesOf = (role: ProjectRole): ReadonlySet<string> => new Set(SCOPES.filter(scope => covers(role, scope)))
const OF_ROLE = { viewer: scopesOf('viewer'), editor: scopesOf('editor'), admin: scopesOf('admin') }

/** Projects are numbered by Postgres. */
const MOST_PROJECTS = 2 ** 31 - 1

/**
 * Who works in the environment. Throws 404 where the operator has no role, as for a project that is not there. It is looked up for each request, so that
 * a role that is taken away opens nothing more.
 */
export async function sessionOwnerAt(
  checks: Pool,
  who: SignedIn,
  project: number,
  environmentKind: EnvironmentKind,
): Promise<SessionOwner> {
  const { operator, session: keyId } = who
  const at = project <= MOST_PROJECTS ? await roleAt(checks, operator.id, project, environmentKind) : null
  if (!at) throw new Problem('not_found', 'there is no such project')
  const { environment, role } = at
  const scopes = OF_ROLE[role]
  return { kind: 'operator', keyId, operator: operator.id, email: operator.email, role, project, environment, environmentKind, scopes }
}

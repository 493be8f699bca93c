import { actsForOperator, type Principal } from '../domain/operators/principal.ts'
import { permits } from '../domain/projects/authority.ts'
import { REPLACED_KEY } from '../domain/projects/keys.ts'
import type { OperationDescription } from '../schemas/generated/operations.ts'
import { Problem } from './errors.ts'

const HOLDER: Record<Principal['kind'], string> = {
  secret: 'this key',
  project: 'this key',
  named: 'this key',
  grant: 'this grant',
  operator: 'your role',
}

/** What the key alone decides, before anything of the request is read. */
export function permit(description: OperationDescription, owner: Principal): void {
  const { auth, sandboxOnly, currentKey, scope, secretKeyOnly } = description
  const { kind, environmentKind, scopes } = owner
  if (kind === 'project') throw new Problem('control_forbidden', 'this needs the Secret Key; the Project Key opens v3 only')
  if (!permits(scopes, scope))
    throw new Problem('control_forbidden', `${HOLDER[kind]} has no scope ${scope}, which ${description.id} needs`)
  if (secretKeyOnly && kind !== 'secret' && !actsForOperator(owner))
    throw new Problem('control_forbidden', 'this operation is open to the Secret Key only')
  if (auth === 'oauth-only' && kind !== 'grant')
    throw new Problem('control_forbidden', 'this operation is open through the MCP server only')
  if (sandboxOnly && environmentKind !== 'sandbox')
    throw new Problem('control_forbidden', 'this operation is open in the sandbox only: use a test_ key')
  if (currentKey && kind === 'secret' && !owner.isCurrent) throw new Problem('control_forbidden', REPLACED_KEY)
}

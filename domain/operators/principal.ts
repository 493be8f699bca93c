import type { Db, Tx } from '../../store/connect.ts'
import type { Trail } from '../kernel/audit/record.ts'
import { Refusal } from '../kernel/refusal.ts'
import { assertCurrent, type KeyOwner } from '../projects/keys.ts'
import { assertInForce, type NamedKeyOwner } from '../projects/named-keys.ts'
import { assertGranted, type GrantOwner } from './grants/grant.ts'
import { assertInSession, type SessionOwner } from './session-owner.ts'

/** Who makes a request with a key. */
export type KeyPrincipal = KeyOwner | NamedKeyOwner

/** Who runs an operation of v4. */
export type Principal = KeyPrincipal | GrantOwner | SessionOwner

/** Whether the principal is an operator in a browser, or an assistant that acts for one: with a role, and without a key of the project. */
export const actsForOperator = (principal: Principal): principal is GrantOwner | SessionOwner =>
  principal.kind === 'grant' || principal.kind === 'operator'

/** How the audit log names a principal. */
export function actorFor(principal: Principal): Trail['actor'] {
  switch (principal.kind) {
    case 'secret':
      return { kind: 'secret_key', id: principal.lastFour }
    case 'project':
      return { kind: 'project_key', id: principal.lastFour }
    case 'named':
      return { kind: 'api_key', id: principal.keyId }
    case 'grant':
      return { kind: 'grant', id: principal.keyId }
    case 'operator':
      return { kind: 'operator', id: principal.email }
    default:
      return principal satisfies never
  }
}

/** Throws `control_forbidden` for a Secret Key that was replaced, a named key that was revoked, a grant or a session that ended, since the request began. */
export async function assertNotReplaced(db: Db, principal: Principal): Promise<void> {
  if (principal.kind === 'named') await assertInForce(db, principal)
  else if (principal.kind === 'grant') await assertGranted(db, principal)
  else if (principal.kind === 'operator') await assertInSession(db, principal)
  else await assertCurrent(db, principal.keyId)
}

/** Throws `control_forbidden` for a named key or a grant of the sandbox: what belongs to the project as a whole is that of production, too. */
export function assertOfProject({ kind, environmentKind }: Principal): void {
  if ((kind === 'named' || kind === 'grant') && environmentKind === 'sandbox')
    throw new Refusal(
      'control_forbidden',
      `settings of the project are those of production, too: a ${kind === 'named' ? 'named key' : 'grant'} of the sandbox does not change them`,
    )
}

/** Until the transaction ends, no Secret Key of the project is replaced and no other transaction changes what belongs to the project. */
export const lockProject = (tx: Tx, project: number) => tx.query('select 1 from projects where id = $1 for no key update', [project])

import type { Db, Tx } from '../../store/connect.ts'
import type { Trail } from '../kernel/audit/record.ts'
import { assertCurrent, type KeyOwner } from './keys.ts'
import type { NamedKeyOwner } from './named-keys.ts'

/** Who makes a request of v4. */
export type Principal = KeyOwner | NamedKeyOwner

/** How the audit log names a principal. */
export function actorFor(principal: Principal): Trail['actor'] {
  switch (principal.kind) {
    case 'secret':
      return { kind: 'secret_key', id: principal.lastFour }
    case 'project':
      return { kind: 'project_key', id: principal.lastFour }
    case 'named':
      return { kind: 'api_key', id: principal.keyId }
    default:
      return principal satisfies never
  }
}

/** Throws `control_forbidden` for a Secret Key that was replaced since the request began. A named key is looked up by every request. */
export async function assertNotReplaced(db: Db, principal: Principal): Promise<void> {
  if (principal.kind !== 'named') await assertCurrent(db, principal.keyId)
}

/** Until the transaction ends, no Secret Key of the project is replaced and no other transaction changes what belongs to the project. */
export const lockProject = (tx: Tx, project: number) => tx.query('select 1 from projects where id = $1 for no key update', [project])

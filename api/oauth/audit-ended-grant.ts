import { audit } from '../../domain/kernel/audit/record.ts'
import type { ListedGrant } from '../../domain/operators/grants/grant.ts'
import type { Tx } from '../../store/connect.ts'
import type { Context } from '../context.ts'

/** The entry of a grant that its client has ended, or whose code or token somebody has used a second time. */
export async function auditEndedGrant(tx: Tx, ctx: Context, operation: 'oauth revoke' | 'oauth reuse', grant: ListedGrant): Promise<void> {
  const { id, operator, client_id, client_name, project, environment, scopes } = grant
  const actor = operation === 'oauth revoke' ? { kind: 'grant' as const, id } : { kind: 'system' as const, id: null }
  const trail = { project, environment: null, actor, operation, requestId: ctx.state.requestId }
  await audit(tx, trail, { resource: 'grant', id, before: { id, operator, client_id, client_name, environment, scopes } })
}

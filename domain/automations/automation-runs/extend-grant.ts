import type { Tx } from '../../../store/connect.ts'
import { audit } from '../../kernel/audit/record.ts'
import type { Environment } from '../../kernel/environment.ts'
import { grantEntitlement } from '../../purchases/entitlements/grant.ts'
import { lockUsers } from '../../users/user.ts'

/** The grant of a run: `expiresAt` null is for good. */
type RunGrant = { run: string; user: string; entitlement: string; expiresAt: string | null }

/**
 * Gives the user the entitlement until `expiresAt` (null: for good), or leaves a longer manual grant as it is; returns until when the
 * grant lasts. Throws `not_found`; `paid_entitlement` while a purchase gives the entitlement.
 */
export async function extendGrant(
  tx: Tx,
  environment: Environment,
  { run, user, entitlement, expiresAt }: RunGrant,
): Promise<string | null> {
  // With the user locked no other grant comes between this read and the write.
  await lockUsers(tx, environment, [user])
  const { rows } = await tx.query<{ expires_at: string | null }>(
    `select expires_at from grants where environment = $1 and user_id = $2 and entitlement_id = $3
       and (expires_at is null or expires_at >= $4::timestamptz) and (expires_at is null or expires_at > environment_now($1))`,
    [environment, user, entitlement, expiresAt],
  )
  if (rows[0]) {
    const { after } = await grantEntitlement(tx, environment, { user, entitlement, expiresAt: rows[0].expires_at })
    return after.expires_at
  }
  const { before, after } = await grantEntitlement(tx, environment, { user, entitlement, expiresAt })
  const projects = await tx.query<{ project: number }>('select project from environments where id = $1', [environment])
  const trail = { project: projects.rows[0]!.project, environment, actor: { kind: 'system', id: run } as const }
  const change = { before: before && { id: entitlement, ...before }, after: { id: entitlement, ...after } }
  const entry = { resource: 'user_entitlement', id: entitlement, user, ...change }
  await audit(tx, { ...trail, operation: 'automation step', requestId: null }, entry)
  return after.expires_at
}

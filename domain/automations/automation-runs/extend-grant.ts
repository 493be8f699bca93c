import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { grantEntitlement } from '../../purchases/entitlements/grant.ts'
import { lockUsers } from '../../users/user.ts'

/**
 * Gives the user the entitlement until `expiresAt` (null: for good), or leaves a longer manual grant as it is; returns until when the
 * grant lasts. Throws `not_found`; `paid_entitlement` while a purchase gives the entitlement.
 */
export async function extendGrant(
  tx: Tx,
  environment: Environment,
  user: string,
  entitlement: string,
  expiresAt: string | null,
): Promise<string | null> {
  // With the user locked no other grant comes between this read and the write.
  await lockUsers(tx, environment, [user])
  const { rows } = await tx.query<{ expires_at: string | null }>(
    `select expires_at from grants where environment = $1 and user_id = $2 and entitlement_id = $3
       and (expires_at is null or expires_at >= $4::timestamptz) and (expires_at is null or expires_at > environment_now($1))`,
    [environment, user, entitlement, expiresAt],
  )
  const { after } = await grantEntitlement(tx, environment, { user, entitlement, expiresAt: rows[0] ? rows[0].expires_at : expiresAt })
  return after.expires_at
}

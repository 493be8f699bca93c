import type { Tx } from '../../../store/connect.ts'
import { type Environment, now as nowOf } from '../../kernel/environment.ts'
import { notFound, Refusal } from '../../kernel/refusal.ts'
import { lockUsers } from '../../users/user.ts'
import type { UserEntitlement } from './fold.ts'
import { userEntitlementsOf } from './user-entitlement.ts'

export type Grant = { starts_at: string; expires_at: string | null }

/**
 * `expiresAt`: null is without end. `field`: the field of the request that names the entitlement, for the error `not_found`. `keepsActive`: an active
 * grant stays as it is. `startsAt`: when it begins, not later than now, which is the default; an active grant keeps its beginning.
 */
export type NewGrant = {
  user: string
  entitlement: string
  expiresAt: string | null
  startsAt?: string | undefined
  field?: string
  keepsActive?: boolean
}

const paid = () => new Refusal('paid_entitlement', 'the user has the entitlement through a purchase')

/** Locks the user, then the entitlement. Purchases change a user's access under the same lock. Throws `not_found` for user or entitlement. */
async function lockUserEntitlement(
  tx: Tx,
  environment: Environment,
  { user, entitlement, field }: Pick<NewGrant, 'user' | 'entitlement' | 'field'>,
): Promise<UserEntitlement | null> {
  await lockUsers(tx, environment, [user])
  const known = await tx.query('select 1 from entitlements where environment = $1 and id = $2 for key share', [environment, entitlement])
  if (known.rowCount === 0) throw notFound(`${field === undefined ? '' : `${field}: `}entitlement ${entitlement}`)
  return (await userEntitlementsOf(tx, environment, user)).find(one => one.entitlement === entitlement)?.hold ?? null
}

/** `now`: as the clock of the environment shows it. */
const isActive = ({ expires_at }: Grant, now: string): boolean => expires_at === null || expires_at > now

const readGrant = async (tx: Tx, environment: Environment, user: string, entitlement: string): Promise<Grant | null> =>
  (
    await tx.query<Grant>('select starts_at, expires_at from grants where environment = $1 and user_id = $2 and entitlement_id = $3', [
      environment,
      user,
      entitlement,
    ])
  ).rows[0] ?? null

/**
 * Grants the user the entitlement. An active grant keeps its begin and gets the new end, or stays as it is. Throws
 * `not_found`; `paid_entitlement` while the user has the entitlement through a purchase.
 */
export async function grantEntitlement(tx: Tx, environment: Environment, grant: NewGrant): Promise<{ before: Grant | null; after: Grant }> {
  const { user, entitlement, expiresAt, startsAt, keepsActive = false } = grant
  const current = await lockUserEntitlement(tx, environment, grant)
  if (current?.throughPurchase) throw paid()
  const before = await readGrant(tx, environment, user, entitlement)
  if (keepsActive && before && isActive(before, await nowOf(tx, environment))) return { before, after: before }
  const { rows } = await tx.query<Grant>(
    `insert into grants (environment, user_id, entitlement_id, starts_at, expires_at)
     select $1, $2, $3, coalesce($5, date_trunc('second', t)), $4 from environment_now($1) t
     on conflict (environment, user_id, entitlement_id) do update set expires_at = excluded.expires_at,
       starts_at = case when grants.expires_at is null or grants.expires_at > date_trunc('second', environment_now($1)) then grants.starts_at
         else excluded.starts_at end
     returning starts_at, expires_at`,
    [environment, user, entitlement, expiresAt, startsAt ?? null],
  )
  return { before, after: rows[0]! }
}

/**
 * Ends the active grant; null when there is none. Throws `not_found` for user or entitlement; `paid_entitlement` when the user has the entitlement
 * only through a purchase.
 */
export async function revokeEntitlement(tx: Tx, environment: Environment, user: string, entitlement: string): Promise<Grant | null> {
  const current = await lockUserEntitlement(tx, environment, { user, entitlement })
  const before = await readGrant(tx, environment, user, entitlement)
  if (before === null || !isActive(before, await nowOf(tx, environment))) {
    if (current?.throughPurchase) throw paid()
    return null
  }
  await tx.query('delete from grants where environment = $1 and user_id = $2 and entitlement_id = $3', [environment, user, entitlement])
  return before
}

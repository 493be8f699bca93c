import { audit } from '../../../domain/kernel/audit/record.ts'
import { now } from '../../../domain/kernel/environment.ts'
import { invalidField, notFound } from '../../../domain/kernel/refusal.ts'
import type { UserEntitlement } from '../../../domain/purchases/entitlements/fold.ts'
import { type Grant, grantEntitlement, revokeEntitlement } from '../../../domain/purchases/entitlements/grant.ts'
import { userEntitlementsOf } from '../../../domain/purchases/entitlements/user-entitlement.ts'
import { accessProduct, accessSource } from '../../entitlement-values.ts'
import { inTransaction, onPool } from '../../operation.ts'
import { fullList } from '../../pagination.ts'
import { wholeSeconds } from '../../time.ts'

const PERMISSION_SOURCE = { app_store: 'apple', play_store: 'google', stripe: 'stripe', paddle: 'paddle' } as const

const iso = (ms: number) => (Number.isFinite(ms) ? wholeSeconds(ms) : null)
const seconds = (ms: number) => (Number.isFinite(ms) ? ms / 1000 : null)

const userEntitlement = (user: string, id: string, { isActive, shown }: UserEntitlement) => ({
  object: 'user_entitlement' as const,
  id,
  url: `/v4/users/${user}/entitlements/${id}`,
  is_active: isActive,
  source: accessSource(shown),
  started_at: iso(shown.startedAt),
  expires_at: iso(shown.until),
  ...accessProduct(shown),
})

const granted = (user: string, id: string, { starts_at, expires_at }: Grant) => ({
  object: 'user_entitlement' as const,
  id,
  url: `/v4/users/${user}/entitlements/${id}`,
  is_active: true,
  source: 'manual' as const,
  started_at: starts_at,
  expires_at,
})

const shown = (user: string, id: string, grant: Grant | null) => grant && granted(user, id, grant)

export const v4ListUserEntitlements = onPool('v4ListUserEntitlements', async ({ path, environment, db }) => ({
  body: fullList(
    `/v4/users/${path.user_id}/entitlements`,
    (await userEntitlementsOf(db, environment, path.user_id)).map(({ entitlement, hold }) =>
      userEntitlement(path.user_id, entitlement, hold),
    ),
  ),
}))

export const v4GrantUserEntitlement = inTransaction('v4GrantUserEntitlement', async ({ path, body, environment, trail, tx }) => {
  const { user_id: user } = path
  const { entitlement_id: id, expires_at: expires = 0 } = body
  if (expires !== 0 && expires * 1000 <= Date.parse(await now(tx, environment))) throw invalidField('expires_at', 'must be later than now')
  const { before, after } = await grantEntitlement(tx, environment, {
    user,
    entitlement: id,
    expiresAt: expires === 0 ? null : iso(expires * 1000),
    field: 'entitlement_id',
  })
  await audit(tx, trail, { resource: 'user_entitlement', id, user, before: shown(user, id, before), after: shown(user, id, after) })
  return { body: granted(user, id, after) }
})

export const v4RevokeUserEntitlement = inTransaction('v4RevokeUserEntitlement', async ({ path, environment, trail, tx }) => {
  const { user_id: user, entitlement_id: id } = path
  const before = await revokeEntitlement(tx, environment, user, id)
  if (!before) throw notFound('active grant of the entitlement')
  await audit(tx, trail, { resource: 'user_entitlement', id, user, before: granted(user, id, before) })
  return { body: undefined }
})

export const v4ListCustomerPermissions = onPool('v4ListCustomerPermissions', async ({ path, environment, db }) => ({
  body: fullList(
    `/v4/customers/${path.customer_id}/permissions`,
    (await userEntitlementsOf(db, environment, path.customer_id)).map(({ entitlement, hold: { isActive, shown } }) => ({
      id: entitlement,
      source: shown.kind === 'grant' ? ('manual' as const) : PERMISSION_SOURCE[shown.store],
      active: isActive,
      started_at: seconds(shown.startedAt),
      expires_at: seconds(shown.until),
      product_id: shown.kind === 'grant' ? null : shown.product,
    })),
  ),
}))

const permission = (customer: string, id: string, expires_at: string | null) => ({
  object: 'customer_permission' as const,
  url: `/v4/customers/${customer}/permissions/${id}`,
  permission_id: id,
  expires_at,
})

export const v4GrantCustomerPermission = inTransaction('v4GrantCustomerPermission', async ({ path, body, environment, trail, tx }) => {
  const { customer_id: user } = path
  const { permission_id: id, expires_at: given = null, started_at: startedAt } = body
  const expires = given === null ? null : Math.floor(Date.parse(given) / 1000) * 1000
  const present = Date.parse(await now(tx, environment))
  if (expires !== null && expires <= present) throw invalidField('expires_at', 'must be later than now')
  if (startedAt !== undefined && Date.parse(startedAt) >= present + 1000) throw invalidField('started_at', 'must not be later than now')
  const { before, after } = await grantEntitlement(tx, environment, {
    user,
    entitlement: id,
    expiresAt: expires === null ? null : iso(expires),
    startsAt: startedAt === undefined ? undefined : wholeSeconds(startedAt),
    field: 'permission_id',
  })
  const granted = permission(user, id, after.expires_at)
  await audit(tx, trail, {
    resource: 'customer_permission',
    id,
    user,
    before: before && permission(user, id, before.expires_at),
    after: granted,
  })
  return { body: granted }
})

export const v4RevokeCustomerPermission = inTransaction('v4RevokeCustomerPermission', async ({ path, environment, trail, tx }) => {
  const { customer_id: user, permission_id: id } = path
  const before = await revokeEntitlement(tx, environment, user, id)
  if (!before) throw notFound('active grant of the entitlement')
  await audit(tx, trail, { resource: 'customer_permission', id, user, before: permission(user, id, before.expires_at) })
  return { body: undefined }
})

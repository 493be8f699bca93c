import { audit } from '../../domain/kernel/audit/record.ts'
import { now } from '../../domain/kernel/environment.ts'
import { Refusal } from '../../domain/kernel/refusal.ts'
import type { UserEntitlement } from '../../domain/purchases/entitlements/fold.ts'
import { grantEntitlement, revokeEntitlement } from '../../domain/purchases/entitlements/grant.ts'
import { entitlementsAt } from '../../domain/purchases/entitlements/user-entitlement.ts'
import { transaction } from '../../store/transaction.ts'
import { accessProduct, accessSource } from '../entitlement-values.ts'
import { unixSeconds, wholeSeconds } from '../time.ts'
import { isMissingUser, V3Problem } from './errors.ts'
import { onUser } from './operation.ts'
import { shownGrant } from './shown-grant.ts'

const entitlement = (id: string, { isActive, shown }: UserEntitlement) => ({
  id,
  active: isActive,
  started: unixSeconds(shown.startedAt),
  ...(Number.isFinite(shown.until) && { expires: unixSeconds(shown.until) }),
  source: accessSource(shown),
  ...accessProduct(shown),
})

export const v3ListUserEntitlements = onUser('v3ListUserEntitlements', async ({ environment, user, deps }) => ({
  object: 'list' as const,
  data: (await entitlementsAt(deps.listing, environment, user.id, user.now / 1000)).map(({ entitlement: id, hold }) =>
    entitlement(id, hold),
  ),
}))

const LAST_SECOND = 253_402_300_799
const wrongEnd = () =>
  new V3Problem(
    'invalid_entitlement_data',
    'Invalid expires at value has been provided, should be in unix timestamp format in seconds in future',
  )

/** The answers of v3 to the refusals of a grant. */
async function asV3Refusal<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (error.code === 'paid_entitlement')
      throw new V3Problem('invalid_entitlement_data', 'Entitlement is granted by a purchase', { status: 422, type: 'logical' })
    if (error.code === 'not_found' && !isMissingUser(error))
      throw new V3Problem('invalid_entitlement_data', 'Invalid entitlement uid, no such entitlement found')
    throw error
  }
}

export const v3GrantUserEntitlement = onUser('v3GrantUserEntitlement', async ({ body, environment, user, trail, db }) => {
  const { id, expires } = body
  const isTime = typeof expires === 'number' && Number.isInteger(expires) && expires <= LAST_SECOND
  if (!isTime || expires <= unixSeconds(await now(db, environment))) throw wrongEnd()
  const grant = { user: user.id, entitlement: id, expiresAt: wholeSeconds(expires * 1000), keepsActive: true }
  const work = transaction(db, async tx => {
    const { before, after } = await grantEntitlement(tx, environment, grant)
    if (after !== before) {
      const change = { before: before && shownGrant(id, before), after: shownGrant(id, after) }
      await audit(tx, trail, { resource: 'user_entitlement', id, user: user.id, ...change })
    }
    return after
  })
  return shownGrant(id, await asV3Refusal(work))
})

export const v3RevokeUserEntitlement = onUser('v3RevokeUserEntitlement', async ({ path: { id }, environment, user, trail, db }) => {
  const work = transaction(db, async tx => {
    const before = await revokeEntitlement(tx, environment, user.id, id)
    if (before) await audit(tx, trail, { resource: 'user_entitlement', id, user: user.id, before: shownGrant(id, before) })
  })
  await asV3Refusal(work)
  return {}
})

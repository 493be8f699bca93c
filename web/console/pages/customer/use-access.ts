import type { CustomerData, UserEntitlement } from '../../../../clients/typescript/src/index.ts'
import { useWrite } from '../../data/write.ts'
import { t } from '../../parts/t.ts'
import { sayWithUndo } from '../../parts/undo.tsx'

const CHANGES = { changes: ['v4ListUserEntitlements', 'v4ListCustomerTimeline', 'v4GetCustomer'] } as const

const secondOf = (time: string | null): number => (time === null ? 0 : Math.floor(Date.parse(time) / 1000))

/**
 * Gives back what was held, with its end. Its beginning is kept, too, where the operator may change customers: editors may grant, but not
 * say when a grant began.
 */
function useGiveBack(id: string, view: CustomerData) {
  const grant = useWrite('v4GrantUserEntitlement', CHANGES)
  const restore = useWrite('v4GrantCustomerPermission', CHANGES)
  return ({ id: entitlement, started_at, expires_at }: UserEntitlement) =>
    view.canRemoveCustomer && started_at !== null
      ? restore.send({ path: { customer_id: id }, body: { permission_id: entitlement, expires_at, started_at } })
      : grant.send({ path: { user_id: id }, body: { entitlement_id: entitlement, expires_at: secondOf(expires_at) } })
}

/** Takes access away at once, with a way back. */
export function useTake(id: string, view: CustomerData) {
  const { send, isPending, error, reset } = useWrite('v4RevokeUserEntitlement', CHANGES)
  const giveBack = useGiveBack(id, view)
  const take = async (held: UserEntitlement) => {
    try {
      await send({ path: { user_id: id, entitlement_id: held.id } })
    } catch {
      // It is shown as `error`.
      return
    }
    sayWithUndo(t('Access to {name} is taken away', { name: held.id }), () => giveBack(held))
  }
  return { take, isPending, error, reset }
}

/** Gives access until `expiresAt`, 0 for ever. The way back takes it away, or sets the end that a grant had before. Throws what the service refuses. */
export function useGive(id: string, view: CustomerData) {
  const { send, isPending, error } = useWrite('v4GrantUserEntitlement', CHANGES)
  const revoke = useWrite('v4RevokeUserEntitlement', CHANGES)
  const giveBack = useGiveBack(id, view)
  const give = async (entitlement: string, expiresAt: number, before: UserEntitlement | undefined) => {
    await send({ path: { user_id: id }, body: { entitlement_id: entitlement, expires_at: expiresAt } })
    sayWithUndo(t('Access to {name} is given', { name: entitlement }), () =>
      before ? giveBack(before) : revoke.send({ path: { user_id: id, entitlement_id: entitlement } }),
    )
  }
  return { give, isPending, error }
}

import type { EnvironmentKind } from '../../domain/kernel/environment.ts'
import type { UserEntitlement } from '../../domain/purchases/entitlements/fold.ts'
import type { UserTransaction } from '../../domain/purchases/entitlements/transactions.ts'
import type { components } from '../../schemas/generated/sdk/api.ts'
import { accessSource } from '../entitlement-values.ts'
import { unixSeconds } from '../time.ts'
import type { SdkPlatform } from './operation.ts'

type Permission = components['schemas']['Permission']
type Shown = components['schemas']['StoreTransaction']

/** A transaction with its type in the words of the SDKs. */
export type TypedTransaction = { transaction: UserTransaction; type: Shown['type'] }

const RENEW_STATE = { will_renew: 1, canceled: 2, billing_issue: 3, non_renewable: -1 } as const

/** In each lineage the first paid period is started, and every later one renewed. `transactions`: the oldest first. */
export function withTypes(transactions: UserTransaction[], platform: SdkPlatform): TypedTransaction[] {
  const paid = new Set<number>()
  return transactions.map(transaction => {
    const { is_subscription, period_type, lineage } = transaction
    if (!is_subscription) return { transaction, type: platform === 'iOS' ? 'nonconsumable_purchase' : 'non_consumable_purchase' }
    if (period_type === 'trial') return { transaction, type: 'trial_started' }
    const step = paid.has(lineage) ? 'renewed' : 'started'
    paid.add(lineage)
    return { transaction, type: `${period_type === 'intro' ? 'intro' : 'subscription'}_${step}` as const }
  })
}

/** Google numbers the renewals of an order: `GPA.1-2-3-4..0`. */
const firstOrder = (order: string): string => order.replace(/\.\..*$/, '')

function idsOf({ transaction_id, original_transaction_id, order_id, lineage_name }: UserTransaction) {
  return {
    original_transaction_id: original_transaction_id ?? (order_id === null ? lineage_name : firstOrder(order_id)),
    transaction_id: transaction_id ?? order_id ?? lineage_name,
  }
}

const shownTransaction = ({ transaction, type }: TypedTransaction, environment: EnvironmentKind): Shown => ({
  ...idsOf(transaction),
  transaction_timestamp: unixSeconds(transaction.purchased_at),
  ...(transaction.expires_at !== null && { expiration_timestamp: unixSeconds(transaction.expires_at) }),
  ...(transaction.revoked_at !== null && { transaction_revoke_timestamp: unixSeconds(transaction.revoked_at) }),
  environment,
  ownership_type: transaction.is_family_shared ? 'family_sharing' : 'owner',
  type,
})

/** An entitlement as SDKs read it: the same fold as v3 shows, with the transactions behind it. `all`: of the user, the oldest first. */
export function permission(
  id: string,
  { isActive, shown }: UserEntitlement,
  all: TypedTransaction[],
  environment: EnvironmentKind,
): Permission {
  const own = all.filter(({ transaction }) => transaction.entitlements.includes(id))
  const at = (one: TypedTransaction) => unixSeconds(one.transaction.purchased_at)
  const trial = own.find(({ transaction }) => transaction.period_type === 'trial')
  const [first, last] = [own[0], own.at(-1)]
  const source = accessSource(shown)
  const giving =
    shown.kind === 'grant'
      ? undefined
      : own.findLast(({ transaction: t }) => t.product === shown.product && Date.parse(t.purchased_at) === shown.from)
  const renewing = giving && own.findLast(({ transaction: t }) => t.lineage === giving.transaction.lineage && t.is_last)?.transaction
  const offAt = renewing && !renewing.auto_renewing ? renewing.auto_renew_off_at : null
  return {
    id,
    associated_product: shown.kind === 'grant' ? '' : shown.product,
    active: isActive ? 1 : 0,
    renew_state: shown.kind === 'purchase' && shown.subscription ? RENEW_STATE[shown.subscription.renewState] : RENEW_STATE.non_renewable,
    started_timestamp: unixSeconds(shown.startedAt),
    ...(Number.isFinite(shown.until) && { expiration_timestamp: unixSeconds(shown.until) }),
    source: source === 'paddle' ? 'unknown' : source,
    renews_count: own.filter(({ type }) => type.endsWith('_renewed')).length,
    ...(trial && { trial_start_timestamp: at(trial) }),
    ...(first && { first_purchase_timestamp: at(first) }),
    ...(last && { last_purchase_timestamp: at(last) }),
    grant_type: shown.kind === 'grant' ? 'manual' : giving?.transaction.is_family_shared ? 'family_sharing' : 'purchase',
    ...(offAt && { auto_renew_disable_timestamp: unixSeconds(offAt) }),
    store_transactions: own.map(one => shownTransaction(one, environment)),
  }
}

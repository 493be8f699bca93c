import type { PeriodStatement, StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import type { ClaimAnswer, ClaimToConfirm, FetchContext } from '../store-client.ts'
import { FORBIDDEN, type PlayDeps } from './developer-api.ts'
import { fetchOrders, firstOrder } from './fetch-orders.ts'
import { fetchPurchase } from './refresh.ts'

type Claimed = { product: string | null; basePlan: string | null; order: string | null }

/** The statement that describes a whole period, not one that states a single field of it. */
const isPeriod = (statement: StoreReport['statements'][number]): statement is PeriodStatement =>
  statement.kind === 'period' && statement.reported.product !== undefined

function isClaimed({ ids, reported }: PeriodStatement, { product, basePlan, order }: Claimed, isForbidden: boolean): boolean {
  if ((product !== null && reported.product !== product) || (basePlan !== null && reported.basePlan !== basePlan)) return false
  // Where orders cannot be read there is one period for all of them.
  return order === null || ids.order === order || (isForbidden && ids.order === firstOrder(order))
}

/** The token of an order. */
async function tokenOf(deps: PlayDeps, order: string, context: FetchContext): Promise<string | Exclude<ClaimAnswer, { is: 'reports' }>> {
  const found = await fetchOrders(deps, [order], context)
  if (found.is !== 'orders') return found.is === 'forbidden' ? FORBIDDEN : found
  return found.orders.find(({ orderId }) => orderId === order)?.purchaseToken ?? { is: 'unknown', why: 'store_says_no' }
}

/**
 * Confirms a claimed purchase: Google knows the token, for this product, with this order. The latest such period is the claimed one. A
 * claim that names only the order gets the token of the order.
 */
export async function confirmPlay(deps: PlayDeps, claim: ClaimToConfirm, context: FetchContext): Promise<ClaimAnswer> {
  if (claim.platform !== 'play_store' || !('token' in claim)) throw new Error('not a claim of Google Play')
  if (claim.token === null && claim.order === null) throw new Error('a claim of Google Play names neither token nor order')
  const token = claim.token ?? (await tokenOf(deps, claim.order!, context))
  if (typeof token !== 'string') return token
  const answer = await fetchPurchase(deps, token, context)
  if (answer.is !== 'reports') return answer
  const isForbidden = answer.reports.some(({ alerts = [] }) => alerts.includes('google_orders_forbidden'))
  const periods = answer.reports.flatMap(({ lineage, statements }) =>
    statements.filter(isPeriod).map(statement => ({ lineage, statement })),
  )
  const [latest] = periods
    .filter(({ statement }) => isClaimed(statement, claim, isForbidden))
    .sort((a, b) => ((a.statement.reported.begins ?? '') < (b.statement.reported.begins ?? '') ? 1 : -1))
  // Google tells of a purchase that is not paid yet, which has no period.
  if (!latest) return { is: 'unknown', why: periods.length === 0 ? 'not_paid' : 'claim_differs' }
  return { ...answer, lineage: latest.lineage, subject: latest.statement.subject }
}

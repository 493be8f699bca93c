import type { PeriodStatement, StoreReport } from '../../../domain/store-facts/statement.ts'
import type { Asking, ClaimAnswer, ClaimToConfirm } from '../store-client.ts'
import { firstOrder } from './ask-orders.ts'
import type { PlayDeps } from './developer-api.ts'
import { askPurchase } from './refresh.ts'

type Claimed = { product: string; basePlan: string | null; order: string | null }

/** The statement that describes a whole period, not one that states a single field of it. */
const isPeriod = (statement: StoreReport['statements'][number]): statement is PeriodStatement =>
  statement.kind === 'period' && statement.said.product !== undefined

function isClaimed({ ids, said }: PeriodStatement, { product, basePlan, order }: Claimed, isForbidden: boolean): boolean {
  if (said.product !== product || (basePlan !== null && said.basePlan !== basePlan)) return false
  // Where orders cannot be read there is one period for all of them.
  return order === null || ids.order === order || (isForbidden && ids.order === firstOrder(order))
}

/** Confirms a claimed purchase: Google knows the token, for this product, with this order. The latest such period is the claimed one. */
export async function confirmPlay(deps: PlayDeps, claim: ClaimToConfirm, asking: Asking): Promise<ClaimAnswer> {
  if (claim.platform !== 'play_store' || !('token' in claim) || claim.token === null) throw new Error('not a claim of Google Play')
  const answer = await askPurchase(deps, claim.token, asking)
  if (answer.is !== 'reports') return answer
  const isForbidden = answer.reports.some(({ alerts = [] }) => alerts.includes('google_orders_forbidden'))
  const periods = answer.reports.flatMap(({ lineage, statements }) =>
    statements.filter(isPeriod).map(statement => ({ lineage, statement })),
  )
  const [latest] = periods
    .filter(({ statement }) => isClaimed(statement, claim, isForbidden))
    .sort((a, b) => ((a.statement.said.begins ?? '') < (b.statement.said.begins ?? '') ? 1 : -1))
  return latest ? { ...answer, lineage: latest.lineage, subject: latest.statement.subject } : { is: 'unknown' }
}

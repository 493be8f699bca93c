import type { PeriodStatement, StoreReport } from '../../../domain/store-facts/statement.ts'
import type { Asking, ClaimAnswer, ClaimToConfirm } from '../store-client.ts'
import { UnknownCurrency } from './money.ts'
import { isPaddleId, type PaddleDeps } from './paddle-api.ts'
import { askPaddleSubscription, askPaddleTransaction } from './refresh.ts'

type Claimed = { product: string | null; transaction: string; subscription: string | null }

/** The statement that describes a whole period, not one that states a single field of it. */
const isPeriod = (statement: StoreReport['statements'][number]): statement is PeriodStatement =>
  statement.kind === 'period' && statement.said.product !== undefined

/** Only what is paid is reported. */
const isClaimed = ({ ids, said }: PeriodStatement, { product, transaction, subscription }: Claimed): boolean =>
  (product === null || said.product === product) &&
  ids.transaction?.split(':')[0] === transaction &&
  ids.subscription === subscription &&
  said.isSubscription === (subscription !== null)

async function confirmClaimed(deps: PaddleDeps, claimed: Claimed, asking: Asking): Promise<ClaimAnswer> {
  const { transaction, subscription } = claimed
  if (!isPaddleId(transaction, 'txn') || (subscription !== null && !isPaddleId(subscription, 'sub'))) return { is: 'unknown' }
  const answer =
    subscription === null ? await askPaddleTransaction(deps, transaction, asking) : await askPaddleSubscription(deps, subscription, asking)
  if (answer.is !== 'reports') return answer
  for (const { lineage, statements } of answer.reports) {
    const found = statements.filter(isPeriod).find(statement => isClaimed(statement, claimed))
    if (found) return { ...answer, lineage, subject: found.subject }
  }
  return { is: 'unknown' }
}

/** Confirms a claimed purchase: Paddle knows the transaction as paid, of this subscription or of none, with an item of the product. */
export async function confirmPaddleClaim(deps: PaddleDeps, claim: ClaimToConfirm, asking: Asking): Promise<ClaimAnswer> {
  if (claim.platform !== 'paddle' || !('transaction' in claim) || claim.transaction === null) throw new Error('not a claim of Paddle')
  const { product, transaction, subscription } = claim
  try {
    return await confirmClaimed(deps, { product, transaction, subscription }, asking)
  } catch (error) {
    if (error instanceof UnknownCurrency) return { is: 'later', why: 'currency_unknown', afterMs: null }
    throw error
  }
}

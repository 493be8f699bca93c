import type { PeriodStatement, StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import type { ClaimAnswer, ClaimToConfirm, FetchContext, StoreAnswer } from '../store-client.ts'
import { UnknownCurrency } from './money.ts'
import { isPaddleId, type PaddleDeps } from './paddle-api.ts'
import { fetchPaddleSubscription, fetchPaddleTransaction } from './refresh.ts'

/** `isSubscription` null: the claim only names a transaction or a subscription, and Paddle's answer shows which one. */
type Claimed = { product: string | null; transaction: string | null; subscription: string | null; isSubscription: boolean | null }

/** The statement that describes a whole period, not one that states a single field of it. */
const isPeriod = (statement: StoreReport['statements'][number]): statement is PeriodStatement =>
  statement.kind === 'period' && statement.reported.product !== undefined

/** Only paid transactions are reported. */
const isClaimed = ({ ids, reported }: PeriodStatement, { product, transaction, subscription, isSubscription }: Claimed): boolean =>
  (product === null || reported.product === product) &&
  (transaction === null || ids.transaction?.split(':')[0] === transaction) &&
  (isSubscription === null || (ids.subscription === subscription && reported.isSubscription === isSubscription))

/** Null: the id does not have the form of Paddle's ids. */
function fetchClaimed(deps: PaddleDeps, { transaction, subscription }: Claimed, context: FetchContext): Promise<StoreAnswer> | null {
  if (transaction !== null && !isPaddleId(transaction, 'txn')) return null
  if (subscription !== null) return isPaddleId(subscription, 'sub') ? fetchPaddleSubscription(deps, subscription, context) : null
  return transaction === null ? null : fetchPaddleTransaction(deps, transaction, context)
}

async function confirmClaimed(deps: PaddleDeps, claimed: Claimed, context: FetchContext): Promise<ClaimAnswer> {
  const answer = await fetchClaimed(deps, claimed, context)
  if (answer === null) return { is: 'unknown', why: 'malformed' }
  if (answer.is !== 'reports') return answer
  for (const { lineage, statements } of answer.reports) {
    const found = statements.filter(isPeriod).find(statement => isClaimed(statement, claimed))
    if (found) return { ...answer, lineage, subject: found.subject }
  }
  const isPaid = answer.reports.some(({ statements }) => statements.some(isPeriod))
  return { is: 'unknown', why: isPaid ? 'claim_differs' : 'not_paid' }
}

/** Confirms a claimed purchase: Paddle knows the transaction as paid, of this subscription or of none, with an item of the product. */
export async function confirmPaddleClaim(deps: PaddleDeps, claim: ClaimToConfirm, context: FetchContext): Promise<ClaimAnswer> {
  if (claim.platform !== 'paddle' || !('transaction' in claim)) throw new Error('not a claim of Paddle')
  const { product, transaction, subscription, isSubscription } = claim
  try {
    return await confirmClaimed(deps, { product, transaction, subscription, isSubscription }, context)
  } catch (error) {
    if (error instanceof UnknownCurrency) return { is: 'later', why: 'currency_unknown', afterMs: null }
    throw error
  }
}

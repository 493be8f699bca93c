import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { type Lineage, lockLineage, lockLineageOf } from './lineage.ts'
import type { Claim } from './validate.ts'

export type RecordedTransaction = { id: string; user_id: string | null; lineage: number; subject: string | null }

export const transactionIdOf = (claim: Pick<Claim, 'transaction' | 'order'>) => claim.transaction ?? claim.order

/** The purchase with the claimed transaction id. */
async function findById(tx: Tx, environment: Environment, claim: Claim): Promise<RecordedTransaction | undefined> {
  const transaction = transactionIdOf(claim)
  if (transaction === null) return undefined
  const { rows } = await tx.query<RecordedTransaction>({
    name: 'find-transaction',
    text: `select id::text, user_id, lineage, subject from purchases where environment = $1 and platform = $2 and coalesce(transaction_id, order_id) = $3`,
    values: [environment, claim.platform, transaction],
  })
  return rows[0]
}

/** For claims without a transaction id (Stripe, Play without order): a period of the lineage and product that contains the claimed begin. */
async function findPeriod(tx: Tx, claim: Claim, lineage: Lineage): Promise<RecordedTransaction | undefined> {
  if (claim.platform !== 'stripe' && claim.platform !== 'play_store') return undefined
  const { rows } = await tx.query<RecordedTransaction>({
    name: 'find-period',
    text: `select id::text, user_id, lineage, subject from purchases where lineage = $1 and store_product_id = $2
             and ($3::text is null or coalesce(transaction_id, order_id) is null)
             and case when is_subscription then $4 >= purchased_at and $4 < expires_at else true end
           limit 1`,
    values: [lineage.id, claim.product, transactionIdOf(claim), claim.purchasedAt],
  })
  return rows[0]
}

/** The purchase of the period that the store has named by the claimed transaction id, among others. */
async function findByFurtherId(tx: Tx, claim: Claim, lineage: Lineage): Promise<RecordedTransaction | undefined> {
  if (claim.platform !== 'app_store' || claim.transaction === null) return undefined
  const { rows } = await tx.query<RecordedTransaction>({
    name: 'find-by-further-id',
    text: `select id::text, user_id, lineage, subject from purchases where lineage = $1 and subject in (
             select o.subject from store_statements s join store_statements o on o.lineage = s.lineage and o.kind = 'period'
               and o.ids ->> 'lineItem' = s.ids ->> 'lineItem'
             where s.lineage = $1 and s.kind = 'period' and md5(s.subject) = md5($2)) limit 1`,
    values: [lineage.id, claim.transaction],
  })
  return rows[0]
}

/** The recorded purchase of the claimed transaction. */
export const findRecorded = async (
  tx: Tx,
  environment: Environment,
  claim: Claim,
  lineage: Lineage,
): Promise<RecordedTransaction | undefined> =>
  (await findById(tx, environment, claim)) ?? (await findPeriod(tx, claim, lineage)) ?? (await findByFurtherId(tx, claim, lineage))

/**
 * Locks the lineage of a claim, and finds the recorded purchase of the claimed transaction. A transaction stays in the lineage in which it
 * was recorded first: a later claim may not know its original transaction (a restored purchase), or may name another one.
 */
export async function lockClaimedLineage(
  tx: Tx,
  environment: Environment,
  claim: Claim,
): Promise<{ lineage: Lineage; known: RecordedTransaction | undefined }> {
  const before = await findById(tx, environment, claim)
  const lineage =
    (before && (await lockLineageOf(tx, before.lineage))) ?? (await lockLineage(tx, environment, claim.platform, claim.lineage))
  const known = await findRecorded(tx, environment, claim, lineage)
  if (!known || known.lineage === lineage.id) return { lineage, known }
  // A concurrent request recorded it in another lineage, between the search and the lock.
  const other = await lockLineageOf(tx, known.lineage)
  return other ? { lineage: other, known } : { lineage, known: undefined }
}

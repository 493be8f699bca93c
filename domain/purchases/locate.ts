import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { TARGET_PLATFORM } from '../subscriptions/purchase.ts'
import { type Lineage, lockLineage, lockLineageOf } from './lineage.ts'
import type { Claim } from './validate.ts'

export type Recorded = { id: string; user_id: string | null; lineage: number }

const nameOf = (claim: Claim) => claim.transaction ?? claim.order

/** Where the transaction stands, by its id. */
async function findNamed(tx: Tx, environment: Environment, claim: Claim): Promise<Recorded | undefined> {
  const name = nameOf(claim)
  if (name === null) return undefined
  const { rows } = await tx.query<Recorded>({
    name: 'find-named-transaction',
    text: `select id::text, user_id, lineage from purchases where environment = $1 and platform = $2 and coalesce(transaction_id, order_id) = $3`,
    values: [environment, claim.platform, name],
  })
  return rows[0]
}

/** Where the store has no id for it (Stripe, Play without order): a period of the lineage and product that holds the claimed beginning. */
async function findPeriod(tx: Tx, claim: Claim, lineage: Lineage): Promise<Recorded | undefined> {
  if (claim.platform !== 'stripe' && claim.platform !== 'play_store') return undefined
  const { rows } = await tx.query<Recorded>({
    name: 'find-period',
    text: `select id::text, user_id, lineage from purchases where lineage = $1 and store_product_id = $2
             and ($3::text is null or coalesce(transaction_id, order_id) is null)
             and case when is_subscription then $4 >= purchased_at and $4 < expires_at else true end
           limit 1`,
    values: [lineage.id, claim.product, nameOf(claim), claim.purchasedAt],
  })
  return rows[0]
}

/** The recorded purchase that is this very transaction. */
export const findRecorded = async (tx: Tx, environment: Environment, claim: Claim, lineage: Lineage): Promise<Recorded | undefined> =>
  (await findNamed(tx, environment, claim)) ?? (await findPeriod(tx, claim, lineage))

/**
 * The lineage that a claim is about, locked, and the recorded purchase that is this very transaction. A transaction stays in the
 * lineage in which it was recorded: a later claim may not know its original (a restored purchase), or name another.
 */
export async function locate(tx: Tx, environment: Environment, claim: Claim): Promise<{ lineage: Lineage; known: Recorded | undefined }> {
  const before = await findNamed(tx, environment, claim)
  const lineage =
    (before && (await lockLineageOf(tx, before.lineage))) ?? (await lockLineage(tx, environment, claim.platform, claim.lineage))
  const known = await findRecorded(tx, environment, claim, lineage)
  if (!known || known.lineage === lineage.id) return { lineage, known }
  // Recorded, in another lineage, between the look and the lock.
  const other = await lockLineageOf(tx, known.lineage)
  return other ? { lineage: other, known } : { lineage, known: undefined }
}

/** Users about whom the transaction was posted: from now on the purchase alone is the fact. */
export async function postedFor(tx: Tx, environment: Environment, claim: Claim): Promise<string[]> {
  const name = nameOf(claim)
  if (name === null) return []
  const { rows } = await tx.query<{ user_id: string }>({
    name: 'posted-for',
    text: `select user_id from events where environment = $1 and transaction_key = $2 and purchase is null and user_id is not null`,
    values: [environment, `${TARGET_PLATFORM[claim.platform]}:${name}`],
  })
  return rows.map(row => row.user_id)
}

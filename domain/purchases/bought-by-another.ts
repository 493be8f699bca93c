import type { Tx } from '../../store/connect.ts'
import { audit } from '../kernel/audit/record.ts'
import type { Environment } from '../kernel/environment.ts'
import { type Bought, claimLineage, type Lineage, transferPolicy } from './lineage.ts'
import { purchasesOfLineage } from './record.ts'
import type { StoreReport } from './store-facts/statement.ts'
import { postedFullRefundAt, withPostedRefunds } from './subscriptions/posted-refunds.ts'
import type { PurchaseRow } from './subscriptions/purchase.ts'
import type { RecordedLineage } from './write-reports.ts'

function endOf(purchase: PurchaseRow): number {
  const { refunded_at, refunded_amount, expires_at, grace_period_expires_at: grace } = purchase
  if (refunded_at !== null && refunded_amount === null) return Date.parse(refunded_at)
  const posted = postedFullRefundAt(purchase)
  if (posted !== null) return posted
  return expires_at === null ? Number.POSITIVE_INFINITY : Math.max(Date.parse(expires_at), grace === null ? 0 : Date.parse(grace))
}

/** At Google Play a purchase token ends when another token continues it, whatever end was announced for it. */
const isReplaced = ({ before, newest }: { before: PurchaseRow; newest: PurchaseRow }): boolean =>
  newest.purchase_token !== null && before.purchase_token !== null && newest.purchase_token !== before.purchase_token

/** The newest period of the lineage, if a report has brought it and the store calls it a purchase; and the period before it. */
async function newPurchase(tx: Tx, environment: Environment, { lineage, added }: RecordedLineage, reports: StoreReport[]) {
  const periods = await withPostedRefunds(
    tx,
    environment,
    (await purchasesOfLineage(tx, lineage)).filter(({ is_subscription }) => is_subscription),
  )
  const [before, newest] = periods.slice(-2)
  if (!before || !newest || newest.subject === null || !added.has(newest.subject)) return null
  const isCalledSo = reports.some(({ statements }) =>
    statements.some(one => one.kind === 'period' && one.subject === newest.subject && one.reported.isRenewal === false),
  )
  return isCalledSo ? { before, newest } : null
}

/**
 * Gives the lineage to the account that the store names with a new purchase, once the owner's access is over; before that, the project's transfer policy
 * decides. Null: there is no such purchase. The lineage and both users are locked.
 */
export async function passToBuyer(
  tx: Tx,
  environment: Environment,
  recorded: RecordedLineage,
  { reports, lineage }: { reports: StoreReport[]; lineage: Lineage },
  account: string,
): Promise<Bought | null> {
  const owner = recorded.owner!
  const found = await newPurchase(tx, environment, recorded, reports)
  if (!found) return null
  const isOver = isReplaced(found) || endOf(found.before) <= Date.parse(found.newest.purchased_at)
  const policy = isOver ? 'transfer' : await transferPolicy(tx, environment)
  const by = policy === 'transfer' && !isOver && lineage.transferred ? 'keep' : policy
  if (by === 'keep') return { owner, account, by }
  await claimLineage(tx, environment, { id: recorded.lineage }, account, by)
  if (by === 'transfer') await noteTransfer(tx, environment, recorded.lineage, { owner, account })
  return { owner, account, by }
}

async function noteTransfer(tx: Tx, environment: Environment, lineage: number, { owner, account }: Omit<Bought, 'by'>): Promise<void> {
  const { rows } = await tx.query<{ project: number }>('select project from environments where id = $1', [environment])
  const trail = {
    ...{ project: rows[0]!.project, environment, actor: { kind: 'system', id: null } as const },
    ...{ operation: 'stores purchase of another account', requestId: null },
  }
  const [before, after] = [owner, account].map(user_id => ({ object: 'lineage', id: String(lineage), user_id }))
  await audit(tx, trail, { resource: 'lineage', id: String(lineage), before: before!, after: after!, user: account })
}

import type { Tx } from '../../store/connect.ts'
import type { PurchaseInput } from './claim.ts'
import type { LockedReports } from './locked-reports.ts'
import { tied } from './store-facts/order.ts'
import { type StatedPeriod, statedPeriods } from './store-facts/stated-period.ts'
import type { PeriodStatement, Statement } from './store-facts/statement.ts'
import type { Claim } from './validate.ts'
import type { Confirmation } from './verification.ts'

/** The claimed transaction as the store reports it. Undefined: the store reports nothing of it. */
export function confirmedPeriod({ reports, lineage, subject }: Confirmation): StatedPeriod | undefined {
  const statements = reports.filter(report => report.lineage === lineage).flatMap(report => report.statements)
  const periods = statements.filter((one): one is PeriodStatement => one.kind === 'period' && one.subject === subject)
  return statedPeriods(periods.map(tied))[0]
}

/** The input with the content of the signed transaction in its place. Signed values replace the caller's values. */
export function withSigned(input: PurchaseInput, confirmation: Confirmation): PurchaseInput {
  const period = confirmedPeriod(confirmation)
  if (!period?.product || period.ids.transaction === null) return input
  const { ids, product, currency = input.currency, price = input.price, begins = input.purchased_at } = period
  const {
    period_type: _type,
    expires_at: _end,
    is_auto_renewing: _renewing,
    is_family_shared: _shared,
    is_discounted: _discounted,
    ...rest
  } = input
  return {
    ...rest,
    ...(currency !== undefined && { currency }),
    ...(price !== undefined && { price }),
    ...(begins !== undefined && { purchased_at: begins }),
    app_store_data: {
      transaction_id: ids.transaction!,
      product_id: product,
      original_transaction_id: ids.originalTransaction ?? ids.transaction!,
    },
  }
}

/** The caller's statements of the claimed transaction, for what the store leaves out. Only the store states its product. */
export function statementsOfClaim(claim: Claim, subject: string, statedAt: number): Statement[] {
  const { transaction, originalTransaction, token, order, subscription, storeType } = claim
  const common = { origin: 'caller' as const, statedAt, subject }
  const period: Statement = {
    ...common,
    kind: 'period',
    ids: { transaction, originalTransaction, token, order, subscription, storeType },
    reported: {
      isSubscription: claim.isSubscription,
      ...(claim.isPriced && { currency: claim.currency, price: claim.price }),
      begins: claim.purchasedAt,
      ends: claim.expiresAt,
      periodType: claim.periodType,
      ...(claim.isDiscounted && { isDiscounted: true }),
      isFamilyShared: claim.familyShared,
      country: claim.country,
    },
  }
  const isOff = claim.isSubscription && !claim.autoRenewing
  return isOff ? [period, { ...common, kind: 'renewal', reported: { autoRenews: false } }] : [period]
}

/** The group of reports with the claimed transaction, and the recorded purchase of it. */
export function claimedGroup(groups: LockedReports[], { lineage }: Confirmation): LockedReports | undefined {
  return groups.find(({ reports }) => reports.some(report => report.lineage === lineage))
}

/** The purchase of a transaction that a store has reported before, under this id or under another one of the period `lineItem`. */
export async function findStated(
  tx: Tx,
  { lineage, younger }: Pick<LockedReports, 'lineage' | 'younger'>,
  subject: string,
  lineItem: string | undefined,
): Promise<{ id: string; user_id: string | null; subject: string | null } | undefined> {
  const { rows } = await tx.query<{ id: string; user_id: string | null; subject: string | null }>({
    name: 'find-stated',
    text: `select id::text, user_id, subject from purchases where lineage = any($1::bigint[]) and subject in (
             select $2::text union all
             select subject from store_statements where lineage = any($1::bigint[]) and kind = 'period' and ids ->> 'lineItem' = $3::text)
           order by subject = $2 desc, lineage limit 1`,
    values: [[lineage, ...younger].map(({ id }) => id), subject, lineItem ?? null],
  })
  return rows[0]
}

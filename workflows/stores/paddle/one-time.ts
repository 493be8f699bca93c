import type { ReportedPeriod, StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import { secondOf, stated } from '../stated.ts'
import { isPaidTransaction, type PaddleAdjustment, type PaddleCustomData, type PaddleTransaction, paddleAccount } from './answers.ts'
import { chargedItems, paddleBilledAt } from './charged-items.ts'
import { paddleIds, reportedPaddleCharge } from './plan-periods.ts'

/** `isWhole` false: some adjustments are unknown. `holder`: another entity that may name the account. */
type OneTimeKnown = {
  transaction: PaddleTransaction
  adjustments: PaddleAdjustment[]
  statedAt: number
  isWhole: boolean
  holder?: { custom_data?: PaddleCustomData }
}

/** The one-time charges of a transaction: one report for each product, each in a lineage of its own. */
export function oneTimeReportsOf({ transaction, adjustments, statedAt, isWhole, holder }: OneTimeKnown): StoreReport[] {
  const at = paddleBilledAt(transaction)
  if (!isPaidTransaction(transaction) || at === 0) return []
  const once = chargedItems(transaction).filter(({ isRecurring }) => !isRecurring)
  return once.map((item): StoreReport => {
    const { subject } = item
    const reported = stated<ReportedPeriod>({
      ...reportedPaddleCharge(item, adjustments),
      isSubscription: false,
      begins: secondOf(at),
      ends: null,
      periodType: null,
    })
    return {
      platform: 'paddle',
      lineage: subject,
      aliases: [],
      accountId: paddleAccount([transaction, ...(holder ? [holder] : [])]),
      statements: [{ kind: 'period', origin: 'api', statedAt, subject, ids: paddleIds(subject, null, 'non_recurring'), reported }],
      notices: [],
      isWhole,
    }
  })
}

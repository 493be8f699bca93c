import { isReportConflict, recordReports } from '../../../domain/purchases/record-reports.ts'
import type { Notice, ReportedPeriod, ReportedRenewal, Statement, StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import type { RecordedLineage } from '../../../domain/purchases/write-reports.ts'
import type { Pool } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'

const DAY = 86_400_000
/** A time `days` from now, as a store states it. */
export const day = (days: number): string => `${new Date(Date.now() + days * DAY).toISOString().slice(0, 19)}Z`
export const ms = (time: string): number => Date.parse(time)

/** A period of the App Store's product `m`. */
export const appPeriod = (begins: string, ends: string, rest: ReportedPeriod = {}): ReportedPeriod => ({
  product: 'm',
  isSubscription: true,
  currency: 'USD',
  price: '9.99',
  periodType: 'normal',
  begins,
  ends,
  isFamilyShared: false,
  ...rest,
})

type StatedTransaction = {
  at: string
  transaction: string
  reported?: ReportedPeriod
  renewal?: ReportedRenewal
  origin?: Statement['origin']
}

/** What a notification of the App Store says of a transaction and of the renewal of its lineage. */
export function appReport(lineage: string, transactions: StatedTransaction[], rest: Partial<StoreReport> = {}): StoreReport {
  const statements = transactions.flatMap(({ at, transaction, reported, renewal, origin = 'push' }): Statement[] => {
    const stated = { statedAt: ms(at), origin, subject: transaction }
    const ids = { transaction, originalTransaction: lineage, token: null, order: null, subscription: null, storeType: null }
    return [
      ...(reported ? [{ ...stated, kind: 'period' as const, ids, reported }] : []),
      ...(renewal ? [{ ...stated, kind: 'renewal' as const, reported: renewal }] : []),
    ]
  })
  return { platform: 'app_store', lineage, aliases: [], accountId: null, statements, notices: [], isWhole: false, ...rest }
}

/** A report about one purchase token of Google Play, with an order per period. */
export function playReport(
  token: string,
  orders: { order: string; reported: ReportedPeriod }[],
  rest: Partial<StoreReport> = {},
): StoreReport {
  const ids = { transaction: null, originalTransaction: null, token, subscription: null, storeType: null }
  const statements = orders.map(
    ({ order, reported }): Statement => ({
      kind: 'period',
      statedAt: Date.now(),
      origin: 'api',
      subject: order,
      ids: { ...ids, order },
      reported,
    }),
  )
  return { platform: 'play_store', lineage: token, aliases: [], accountId: null, statements, notices: [], isWhole: true, ...rest }
}

export const noticeOf = (slug: string, id: string, at: string, subject: string | null): Notice => ({ slug, id, at: ms(at), subject })

export const record = (pool: Pool, environment: number, reports: StoreReport[], isConnected = true): Promise<RecordedLineage[]> =>
  transaction(pool, tx => recordReports(tx, environment, reports, { isConnected }), isReportConflict)

import { GetTransactionHistoryVersion, Status, type StatusResponse } from '@apple/app-store-server-library'
import { NotCredible } from '../../../domain/purchases/store-facts/credible.ts'
import type { ReportedPeriod, Statement, StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import type { AppStoreApi } from './app-store-api.ts'
import { type AppleRenewal, completeRenewal, renewalStatement, reportedRetry } from './renewal-statement.ts'
import type { AppleSignatures } from './signed-data.ts'
import { UnreadableContent } from './signed-payload.ts'
import {
  type AppleTransaction,
  completeTransaction,
  isAutoRenewable,
  transactionStatement,
  wholeSecondOf,
} from './transaction-statement.ts'

/** The most pages, of 20 transactions each: a weekly subscription of 38 years. */
const MOST_PAGES = 100

/** The last transaction of a subscription, and its renewal info. */
type LastTransaction = {
  transaction: AppleTransaction
  renewal: AppleRenewal | null
  status: number | undefined
  group: string | undefined
}

/** The state of the lineage's subscription; null: the lineage has none. */
async function lastTransaction(verifier: AppleSignatures, { data }: StatusResponse, lineage: string): Promise<LastTransaction | null> {
  // An answer of another kind must not count as "nothing is known": for a claim, that means fraud.
  if (!Array.isArray(data)) throw new UnreadableContent('an answer has no data')
  for (const { subscriptionGroupIdentifier: group, lastTransactions = [] } of data) {
    const item = lastTransactions.find(({ originalTransactionId }) => originalTransactionId === lineage)
    if (item?.signedTransactionInfo === undefined) continue
    const { signedTransactionInfo, signedRenewalInfo, status } = item
    const transaction = completeTransaction(await verifier.verifyAndDecodeTransaction(signedTransactionInfo))
    const renewal = signedRenewalInfo === undefined ? null : completeRenewal(await verifier.verifyAndDecodeRenewalInfo(signedRenewalInfo))
    return { transaction, renewal, status, group }
  }
  return null
}

/** All transactions of the customer who has this one; of one group of subscriptions, if it is given. */
async function transactionsOf(
  api: AppStoreApi,
  verifier: AppleSignatures,
  id: string,
  group: string | undefined,
): Promise<{ transactions: AppleTransaction[]; isWhole: boolean }> {
  const filter = group === undefined ? {} : { subscriptionGroupIdentifiers: [group] }
  const transactions: AppleTransaction[] = []
  let revision: string | null = null
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer = await api.getTransactionHistory(id, revision, filter, GetTransactionHistoryVersion.V2)
    if (!Array.isArray(answer.signedTransactions)) throw new UnreadableContent('an answer has no signedTransactions')
    for (const signed of answer.signedTransactions)
      transactions.push(completeTransaction(await verifier.verifyAndDecodeTransaction(signed)))
    if (answer.hasMore !== true) return { transactions, isWhole: true }
    revision = answer.revision ?? null
    if (revision === null) break
  }
  return { transactions, isWhole: false }
}

const inOrder = (a: AppleTransaction, b: AppleTransaction): number =>
  a.purchaseDate - b.purchaseDate || (a.transactionId < b.transactionId ? -1 : 1)

/** A change of product between two periods. Apple marks a transaction that was upgraded; a renewal to another product is a downgrade. */
function reportedLevel(before: AppleTransaction | undefined, transaction: AppleTransaction): ReportedPeriod {
  if (!before || !isAutoRenewable(transaction)) return {}
  // The same period under another id.
  if (before.webOrderLineItemId !== undefined && before.webOrderLineItemId === transaction.webOrderLineItemId) return {}
  if (before.isUpgraded === true) return { level: { is: 'upgrade', refunded: null } }
  const isChanged = transaction.transactionReason === 'RENEWAL' && transaction.productId !== before.productId
  return isChanged ? { level: { is: 'downgrade' } } : {}
}

/** The grace period, from the state of the subscription. */
function reportedGrace(status: number | undefined, { signedDate }: AppleRenewal): ReportedPeriod {
  if (status === Status.BILLING_GRACE_PERIOD) return { graceOverAt: null }
  return status === Status.BILLING_RETRY ? { graceOverAt: wholeSecondOf(signedDate) } : {}
}

function statementsOf(transactions: AppleTransaction[], last: LastTransaction | null): Statement[] {
  const retry = last?.renewal ? { ...reportedRetry(last.renewal), ...reportedGrace(last.status, last.renewal) } : {}
  const lastId = last?.transaction.transactionId
  const periods = transactions.map((transaction, i) =>
    transactionStatement(transaction, 'api', {
      ...reportedLevel(transactions[i - 1], transaction),
      ...(transaction.transactionId === lastId && retry),
    }),
  )
  if (!last?.renewal) return periods
  return [...periods, renewalStatement(last.renewal, last.transaction.transactionId, 'api', { gaveUp: last.status === Status.EXPIRED })]
}

function reportOf(lineage: string, transactions: AppleTransaction[], last: LastTransaction | null, isWhole: boolean): StoreReport | null {
  // The history may be a moment older than the state, and lack the transaction of the state.
  const isKnown = transactions.some(({ transactionId }) => transactionId === last?.transaction.transactionId)
  const all = [...transactions, ...(last && !isKnown ? [last.transaction] : [])].sort(inOrder)
  if (all.length === 0) return null
  const account = all.findLast(({ appAccountToken }) => appAccountToken !== undefined)?.appAccountToken
  return {
    platform: 'app_store',
    lineage,
    aliases: [],
    accountId: account ?? last?.renewal?.appAccountToken ?? null,
    statements: statementsOf(all, last),
    notices: [],
    isWhole,
  }
}

/** Everything that Apple reports of a lineage: the state of its subscription and all its transactions; null: Apple does not know the lineage. */
export async function appleLineage(api: AppStoreApi, verifier: AppleSignatures, lineage: string): Promise<StoreReport | null> {
  const last = await lastTransaction(verifier, await api.getAllSubscriptionStatuses(lineage), lineage)
  const { transactions, isWhole } = await transactionsOf(api, verifier, lineage, last?.group)
  // Apple's history is that of a customer and has other lineages, too.
  const own = transactions.filter(({ originalTransactionId }) => originalTransactionId === lineage)
  return reportOf(lineage, own, last, isWhole)
}

/** Null where Apple reports nothing credible of the lineage: the customer has other lineages. */
function credibleOrNull(report: () => StoreReport | null): StoreReport | null {
  try {
    return report()
  } catch (error) {
    if (error instanceof NotCredible) return null
    throw error
  }
}

/** The same of all lineages of the customer who has a transaction, the oldest lineage first. */
export async function appleCustomer(api: AppStoreApi, verifier: AppleSignatures, id: string): Promise<StoreReport[]> {
  const { transactions, isWhole } = await transactionsOf(api, verifier, id, undefined)
  const lineages = Map.groupBy(transactions.sort(inOrder), ({ originalTransactionId }) => originalTransactionId)
  const statuses = transactions.some(isAutoRenewable) ? await api.getAllSubscriptionStatuses(id) : { data: [] }
  const reports: StoreReport[] = []
  for (const [lineage, own] of lineages) {
    const last = await lastTransaction(verifier, statuses, lineage)
    const report = credibleOrNull(() => reportOf(lineage, own, last, isWhole))
    if (report) reports.push(report)
  }
  return reports
}

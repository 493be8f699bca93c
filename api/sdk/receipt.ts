import { refusalOfEvidence } from '../../domain/purchases/attempts/reason.ts'
import { confirmedPeriod } from '../../domain/purchases/confirmed-claim.ts'
import type { PeriodStatement, StoreReport } from '../../domain/purchases/store-facts/statement.ts'
import { transactionOfReceipt } from '../../domain/purchases/stores/app-receipt.ts'
import type { Confirmation, Evidence } from '../../domain/purchases/verification.ts'
import { evidenceOfApp } from '../app-purchase.ts'
import { recordRefusedClaim } from '../purchase-attempts.ts'
import { noteRefusal, recordClaim, refusalOf } from './claim.ts'
import { SdkProblem } from './errors.ts'
import type { CheckedReceipts, SdkCaller } from './operation.ts'

/** Of a customer with more lineages subscriptions come first, then the newest: each consumable has a lineage of its own. */
const MOST_LINEAGES = 50

/** Each start of an app sends its receipt: Apple is asked again after an hour, and sooner where it gave no answer. */
const CHECKED_MS = { answered: 3_600_000, unanswered: 300_000 }
const MOST_CHECKED = 20_000

function remember(checked: CheckedReceipts, key: string, ms: number): void {
  checked.delete(key)
  if (checked.size >= MOST_CHECKED) checked.delete(checked.keys().next().value!)
  checked.set(key, performance.now() + ms)
}

/** What the app asks for on behalf of its user, who waits for the result. */
const isRestore = (trigger: string | undefined): boolean => trigger === 'Restore' || trigger === 'SyncHistoricalData'

const isSubscription = ({ statements }: StoreReport): boolean =>
  statements.some(one => one.kind === 'period' && one.reported.isSubscription === true)

/** The reports of a store have the oldest lineage first. */
const mattering = (reports: StoreReport[]): StoreReport[] =>
  [...reports.filter(isSubscription).reverse(), ...reports.filter(report => !isSubscription(report)).reverse()].slice(0, MOST_LINEAGES)

/** The last transaction of a lineage, as evidence of its own. */
function lastOf(evidence: Evidence & Confirmation, report: StoreReport): (Evidence & Confirmation) | undefined {
  const last = report.statements.findLast((one): one is PeriodStatement => one.kind === 'period' && one.reported.product !== undefined)
  return last && { ...evidence, reports: [report], lineage: report.lineage, subject: last.subject }
}

/** Records one lineage as a purchase of the user. */
async function claimLineage(call: SdkCaller, evidence: Evidence & Confirmation): Promise<SdkProblem | undefined> {
  const { product, begins } = confirmedPeriod(evidence) ?? {}
  if (product === undefined || begins === undefined) return undefined
  const data = { transaction_id: evidence.subject, original_transaction_id: evidence.lineage, product_id: product }
  const input = { purchased_at: begins, app_store_data: data }
  const problem = await refusalOf(recordClaim(call, input, evidence))
  if (problem) await noteRefusal(call, input, problem)
  return problem
}

/** What a receipt names is fetched from the store only: nobody's word stands for it. */
type Unsupported = Exclude<Evidence, Confirmation>

/** A receipt that nothing supports is ignored. Where somebody waits for its purchases, it leaves an attempt. The problem is never answered itself. */
async function recordUnsupported(call: SdkCaller, transaction: string, evidence: Unsupported): Promise<SdkProblem> {
  const cause = refusalOfEvidence(evidence.is === 'accepted' ? { is: 'unconfirmed' } : evidence)
  const problem = new SdkProblem('wrongPurchase', cause.message, { cause })
  await recordRefusedClaim(call, { app_store_data: { transaction_id: transaction } }, problem)
  return problem
}

export type ClaimedReceipt = { lineages: number; problem?: SdkProblem | undefined }

/**
 * Claims for the user what Apple knows of the customer of a receipt; gives how many lineages the user has of it, and why one was refused. What belongs
 * to another user is left out. A receipt that cannot be read, and one of a project that has not connected Apple, are ignored. Throws 502 when Apple gives no answer to
 * somebody who waits for it.
 */
export async function claimReceipt(
  call: SdkCaller,
  receipt: unknown,
  { isAwaited = isRestore(call.trigger) } = {},
): Promise<ClaimedReceipt> {
  if (typeof receipt !== 'string' || receipt === '') return { lineages: 0 }
  const transaction = transactionOfReceipt(receipt)
  const key = `${call.user.environment}:${call.user.no}:${transaction}`
  const isFresh = (call.checkedReceipts.get(key) ?? 0) > performance.now()
  if (transaction === undefined && !isFresh) call.log.warn({ id: call.trail.requestId }, 'a receipt cannot be read')
  if (typeof transaction !== 'string' || (isFresh && !isAwaited)) {
    if (!isFresh) remember(call.checkedReceipts, key, CHECKED_MS.answered)
    return { lineages: 0 }
  }
  const evidence = await evidenceOfApp(call, { platform: 'app_store', customerTransaction: transaction })
  remember(call.checkedReceipts, key, evidence.is === 'no_answer' ? CHECKED_MS.unanswered : CHECKED_MS.answered)
  if (evidence.is !== 'confirmed' && evidence.is !== 'other_environment') {
    const problem = isAwaited ? await recordUnsupported(call, transaction, evidence) : undefined
    if (problem && evidence.is === 'no_answer') throw new SdkProblem('noAnswer', 'the store gave no answer', { cause: problem })
    return { lineages: 0, problem }
  }
  const claimed: ClaimedReceipt = { lineages: 0 }
  for (const report of mattering(evidence.reports)) {
    const last = lastOf(evidence, report)
    const problem = last && (await claimLineage(call, last))
    if (problem) claimed.problem = problem
    else if (last) claimed.lineages++
  }
  return claimed
}

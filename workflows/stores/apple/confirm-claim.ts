import { VerificationException } from '@apple/app-store-server-library'
import { NotCredible } from '../../../domain/purchases/store-facts/credible.ts'
import type { StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import { timeLimit } from '../../../store/time-limit.ts'
import type { ClaimAnswer, ClaimToConfirm, FetchContext } from '../store-client.ts'
import { type AppleDeps, type AppStoreApi, fetchFromApple } from './app-store-api.ts'
import { appleCustomer, appleLineage } from './lineage-history.ts'
import { isAppleId } from './refresh-lineage.ts'
import { type AppleSignatures, appleSignaturesFor, isForeign, isOfOtherEnvironment, isSignedInTime, isUndecided } from './signed-data.ts'
import { UnreadableContent, unverified } from './signed-payload.ts'
import { type AppleTransaction, completeTransaction, transactionStatement } from './transaction-statement.ts'

/** A claim has 10 s. Apple's signature suffices when Apple itself has not answered by then. */
const PATIENCE_MS = 8_000

/** What a single transaction says of its lineage. */
const reportOf = (transaction: AppleTransaction, origin: 'push' | 'api'): StoreReport => ({
  platform: 'app_store',
  lineage: transaction.originalTransactionId,
  aliases: [],
  accountId: transaction.appAccountToken ?? null,
  statements: [transactionStatement(transaction, origin)],
  notices: [],
  isWhole: false,
})

/** A transaction with the report of its lineage. */
type Confirmed = { transaction: AppleTransaction; report: StoreReport }

type Foreign = 'other_app' | 'other_environment'
const foreignness = (error: unknown): Foreign => (isOfOtherEnvironment(error) ? 'other_environment' : 'other_app')

async function fetchTransaction(
  api: AppStoreApi,
  verifier: AppleSignatures,
  id: string,
  product: string | null,
): Promise<Confirmed | 'claim_differs' | Foreign> {
  const { signedTransactionInfo } = await api.getTransactionInfo(id)
  if (signedTransactionInfo === undefined) throw new UnreadableContent('an answer has no signedTransactionInfo')
  try {
    const transaction = completeTransaction(await verifier.verifyAndDecodeTransaction(signedTransactionInfo))
    if (product !== null && transaction.productId !== product) return 'claim_differs'
    const report = await appleLineage(api, verifier, transaction.originalTransactionId)
    return { transaction, report: report ?? reportOf(transaction, 'api') }
  } catch (error) {
    if (isForeign(error)) return foreignness(error)
    throw error
  }
}

const MALFORMED: ClaimAnswer = { is: 'unknown', why: 'malformed' }

async function confirmTransaction(deps: AppleDeps, id: string, product: string | null, context: FetchContext): Promise<ClaimAnswer> {
  if (!isAppleId(id)) return MALFORMED
  const { environment, settings } = context
  const answer = await fetchFromApple(deps, context, (api, bundleId) =>
    fetchTransaction(api, appleSignaturesFor(deps.rules, settings, bundleId, environment), id, product),
  )
  if (answer.is !== 'answer') return answer
  if (typeof answer.value === 'string') return { is: 'unknown', why: answer.value }
  const { transaction, report } = answer.value
  const { transactionId: subject, originalTransactionId: lineage } = transaction
  const isIncluded = report.statements.some(statement => statement.kind === 'period' && statement.subject === subject)
  const statements = isIncluded ? report.statements : [...report.statements, transactionStatement(transaction, 'api')]
  return { is: 'reports', environment, reports: [{ ...report, statements }], lineage, subject }
}

/** The transaction of a signature that holds for the app and the environment, or why there is none. */
async function signedTransaction(
  deps: AppleDeps,
  jws: string,
  { settings, environment }: FetchContext,
): Promise<Confirmed | 'undecided' | 'signature_invalid' | 'not_credible' | Foreign> {
  const stated = unverified(jws)
  const bundleId = settings.value('bundle_id') ?? stated?.bundleId
  if (!stated || typeof bundleId !== 'string' || !isSignedInTime(stated.signedDate, deps.rules.now())) return 'signature_invalid'
  try {
    const verifier = appleSignaturesFor(deps.rules, settings, bundleId, environment)
    const transaction = completeTransaction(await verifier.verifyAndDecodeTransaction(jws))
    return { transaction, report: reportOf(transaction, 'push') }
  } catch (error) {
    if (isUndecided(error)) return 'undecided'
    if (isForeign(error)) return foreignness(error)
    if (error instanceof VerificationException) return 'signature_invalid'
    if (error instanceof UnreadableContent || error instanceof NotCredible) return 'not_credible'
    throw error
  }
}

async function confirmSigned(deps: AppleDeps, jws: string, context: FetchContext): Promise<ClaimAnswer> {
  const signed = await signedTransaction(deps, jws, context)
  if (signed === 'undecided') return { is: 'later', why: 'certificates_undecided', afterMs: null }
  if (typeof signed === 'string') return { is: 'unknown', why: signed }
  const { transaction, report } = signed
  const { transactionId: subject, originalTransactionId: lineage, productId } = transaction
  const answer = await confirmWithin(deps, subject, productId, context)
  switch (answer?.is) {
    case 'unknown':
    case 'gone':
      return answer
    case 'reports': {
      const [whole] = answer.reports
      return { ...answer, reports: [{ ...whole!, statements: [...whole!.statements, ...report.statements] }] }
    }
    case 'later':
    case 'refused':
    case undefined:
      return { is: 'reports', environment: context.environment, reports: [report], lineage, subject }
    default:
      return answer satisfies never
  }
}

/** The answer of Apple; undefined when it does not come in time. */
async function confirmWithin(deps: AppleDeps, id: string, product: string, context: FetchContext): Promise<ClaimAnswer | undefined> {
  const patience = timeLimit(deps.patienceMs ?? PATIENCE_MS).signal
  try {
    return await confirmTransaction(deps, id, product, { ...context, signal: AbortSignal.any([context.signal, patience]) })
  } catch (error) {
    context.signal.throwIfAborted()
    if (patience.aborted) return undefined
    throw error
  }
}

/** What a receipt names: all purchases of the customer who has the transaction. */
async function confirmCustomer(deps: AppleDeps, id: string, context: FetchContext): Promise<ClaimAnswer> {
  if (!isAppleId(id)) return MALFORMED
  const { environment, settings } = context
  const answer = await fetchFromApple(deps, context, (api, bundleId) =>
    appleCustomer(api, appleSignaturesFor(deps.rules, settings, bundleId, environment), id),
  )
  if (answer.is !== 'answer') return answer
  const [first] = answer.value
  if (!first) return { is: 'unknown', why: 'store_says_no' }
  const named = answer.value.find(({ statements }) => statements.some(({ subject }) => subject === id)) ?? first
  return { is: 'reports', environment, reports: answer.value, lineage: named.lineage, subject: id }
}

/**
 * A claimed transaction with everything that Apple says of its lineage. A signed transaction is confirmed by its signature, and by Apple where the
 * project is connected. A transaction that only names the customer is confirmed with all lineages of the customer.
 */
export async function confirmAppleClaim(deps: AppleDeps, claim: ClaimToConfirm, context: FetchContext): Promise<ClaimAnswer> {
  if ('customerTransaction' in claim) return confirmCustomer(deps, claim.customerTransaction, context)
  if ('signedTransaction' in claim) return confirmSigned(deps, claim.signedTransaction, context)
  return confirmTransaction(deps, claim.transaction ?? claim.lineage, claim.product, context)
}

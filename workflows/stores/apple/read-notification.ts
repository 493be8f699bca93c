import type { ResponseBodyV2DecodedPayload } from '@apple/app-store-server-library'
import type {
  Notice,
  RenewalStatement,
  ReportedPeriod,
  ReportedRenewal,
  Statement,
} from '../../../domain/purchases/store-facts/statement.ts'
import type { NotificationRead, RecordedNotification, StoreSettings } from '../store-client.ts'
import { type AppleAddition, meaningOf, type NotificationMeaning } from './notification-meaning.ts'
import { type AppleRenewal, completeRenewal, renewalStatement, reportedRetry } from './renewal-statement.ts'
import { type AppleSignatures, appleSignaturesFor, type SignatureRules } from './signed-data.ts'
import { signedPayloadIn, statedEnvironment, UnreadableContent, unverified } from './signed-payload.ts'
import {
  type AppleTransaction,
  completeTransaction,
  isAutoRenewable,
  refundOf,
  transactionStatement,
  wholeSecondOf,
} from './transaction-statement.ts'

const AUTO_RENEW_ENABLED = 'AUTO_RENEW_ENABLED'
const GRACE_PERIOD = 'GRACE_PERIOD'

/** A verified notification. `signedDate`: of the outer signature. */
type Notified = {
  subtype: string | null
  signedDate: number
  transaction: AppleTransaction | null
  renewal: AppleRenewal | null
  meaning: NotificationMeaning
}

/** The reports about the period that follow from the type of the notification. */
function periodAdded({ meaning, subtype, signedDate, renewal }: Notified, transaction: AppleTransaction): ReportedPeriod {
  const retry = meaning.isOfLast && renewal ? reportedRetry(renewal) : {}
  switch (meaning.adds) {
    case 'recovered':
      return { ...retry, isRecovered: true, isRenewal: true, isNewBuy: false }
    case 'upgrade':
      return { ...retry, level: { is: 'upgrade', refunded: null } }
    case 'retry': {
      const graceEnd = renewal?.gracePeriodExpiresDate
      const granted = { graceOverAt: null, ...(graceEnd !== undefined && { graceUntil: wholeSecondOf(graceEnd) }) }
      return { retrySince: wholeSecondOf(signedDate), ...(subtype === GRACE_PERIOD ? granted : { graceUntil: null }) }
    }
    case 'graceOver':
      return { retrySince: wholeSecondOf(signedDate), graceOverAt: wholeSecondOf(signedDate) }
    case 'refunded':
      return { refund: refundOf(transaction) }
    case 'revoked':
      return { refund: refundOf(transaction, true) }
    case 'refundReversed':
      return { refund: null }
    case 'nothing':
    case 'switched':
    case 'ended':
    case 'consumptionRequested':
    case 'refundDeclined':
      return retry
    default:
      return meaning.adds satisfies never
  }
}

/** The reports about auto-renew that follow from the type of the notification: renewal info may be missing. */
function renewalAdded({ meaning, subtype, renewal }: Notified): ReportedRenewal {
  if (meaning.adds === 'ended') return { gaveUp: true }
  return meaning.adds === 'switched' && !renewal ? { autoRenews: subtype === AUTO_RENEW_ENABLED } : {}
}

function renewalStatements(notified: Notified): RenewalStatement[] {
  const { transaction, renewal, meaning, signedDate } = notified
  const subject = meaning.isOfLast && transaction ? transaction.transactionId : ''
  const added = renewalAdded(notified)
  if (renewal) return [renewalStatement(renewal, subject, 'push', added)]
  return Object.keys(added).length === 0 ? [] : [{ kind: 'renewal', subject, statedAt: signedDate, origin: 'push', reported: added }]
}

const EVENT_OF: Partial<Record<AppleAddition, string>> = {
  consumptionRequested: 'refund_consumption',
  refundDeclined: 'refund_declined',
}

function notices(id: string, { meaning, signedDate, transaction }: Notified): Notice[] {
  const slug = EVENT_OF[meaning.adds]
  return slug === undefined ? [] : [{ slug, id, at: signedDate, subject: transaction?.transactionId ?? null }]
}

async function verifiedContent(
  verifier: AppleSignatures,
  { data }: ResponseBodyV2DecodedPayload,
): Promise<Pick<Notified, 'transaction' | 'renewal'>> {
  const { signedTransactionInfo, signedRenewalInfo } = data ?? {}
  const [transaction, renewal] = await Promise.all([
    signedTransactionInfo === undefined ? null : verifier.verifyAndDecodeTransaction(signedTransactionInfo).then(completeTransaction),
    signedRenewalInfo === undefined ? null : verifier.verifyAndDecodeRenewalInfo(signedRenewalInfo).then(completeRenewal),
  ])
  return { transaction, renewal }
}

/**
 * Verifies and decodes the content of a recorded notification. Throws for content that is not Apple's, not of this app, not of one lineage,
 * or unreadable.
 */
export async function readAppleNotification(
  rules: SignatureRules,
  recorded: RecordedNotification,
  settings: StoreSettings,
): Promise<NotificationRead> {
  const meaning = meaningOf(recorded.type, recorded.subtype)
  if (meaning === null) return { is: 'ignored', type: recorded.type }
  const signedPayload = signedPayloadIn(recorded.body)
  const stated = unverified(signedPayload)
  const bundleId = settings.value('bundle_id')
  if (signedPayload === null || stated === null || bundleId === null)
    throw new UnreadableContent('no signed payload, or no bundle_id to verify it for')
  const environment = statedEnvironment(stated)
  if (environment === 'xcode' || environment === 'local_testing') throw new UnreadableContent(`signed by ${environment}`)

  const verifier = appleSignaturesFor(rules, settings, bundleId, environment)
  const payload = await verifier.verifyAndDecodeNotification(signedPayload)
  const { transaction, renewal } = await verifiedContent(verifier, payload)
  const lineage = transaction?.originalTransactionId ?? renewal?.originalTransactionId
  if (lineage === undefined) throw new UnreadableContent('the notification carries neither a transaction nor renewal info')
  if (renewal && renewal.originalTransactionId !== lineage)
    throw new UnreadableContent('the renewal info is of another lineage than the transaction')

  const { subtype, statedAt: signedDate } = recorded
  const notified: Notified = { subtype, signedDate, transaction, renewal, meaning }
  const period = transaction && transactionStatement(transaction, 'push', periodAdded(notified, transaction))
  const statements: Statement[] = [...(period ? [period] : []), ...renewalStatements(notified)]
  const isIncomplete = !renewal && (transaction === null || isAutoRenewable(transaction))
  return {
    is: 'read',
    environment,
    reports: [
      {
        platform: 'app_store',
        lineage,
        aliases: [],
        accountId: transaction?.appAccountToken ?? renewal?.appAccountToken ?? null,
        statements,
        notices: notices(recorded.id, notified),
        isWhole: false,
      },
    ],
    refresh: meaning.refresh || isIncomplete,
  }
}

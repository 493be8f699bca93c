import { type Detail, Refusal, type RefusalCode } from '../../kernel/refusal.ts'
import type { Evidence, NotKnown, StoreWord } from '../verification.ts'

/**
 * Why a claim of a purchase was refused.
 *
 * - store_says_no: the store does not know the transaction, or has forgotten it.
 * - not_paid: the store knows it, and it is not paid: pending, incomplete, given up.
 * - claim_differs: the store knows it with another product, plan, order or kind than the claim has.
 * - other_app, other_environment: the store knows it, of another app, or of the other environment.
 * - signature_invalid: a signed transaction that no known certificate confirms.
 * - not_credible: the store states times or amounts that cannot be right.
 * - not_connected: the project has not connected the store, and UNVERIFIED_PURCHASES demands a confirmation.
 * - credentials_refused: the store does not accept the credentials of the project.
 * - store_unreachable: the store gave no answer in time, or none that could be used.
 * - product_not_linked: no product of the environment links the product of the store.
 * - belongs_to_other_user: another user has the transaction, and the transfer policy leaves it there.
 * - already_recorded: the user has the transaction.
 * - malformed: the request itself is wrong.
 * - service_failed: a failure of this service; its log has the error.
 */
export type AttemptReason =
  | 'store_says_no'
  | 'not_paid'
  | 'claim_differs'
  | 'other_app'
  | 'other_environment'
  | 'signature_invalid'
  | 'not_credible'
  | 'not_connected'
  | 'credentials_refused'
  | 'store_unreachable'
  | 'product_not_linked'
  | 'belongs_to_other_user'
  | 'already_recorded'
  | 'malformed'
  | 'service_failed'

/** A refusal of a claim, with the reason that an operator is shown. `word`: what the store answered. */
export class ClaimRefusal extends Refusal {
  readonly reason: AttemptReason
  readonly word: StoreWord | null

  constructor(code: RefusalCode, reason: AttemptReason, message: string, word: StoreWord | null = null, details?: Detail[]) {
    super(code, message, details)
    this.reason = reason
    this.word = word
  }
}

const NOT_KNOWN: Record<NotKnown, string> = {
  store_says_no: 'the store does not know the transaction',
  not_paid: 'the store knows the transaction, which is not paid',
  claim_differs: 'the store knows the transaction with another product, plan, order or kind',
  other_app: 'the transaction is of another app',
  other_environment: 'the transaction is of the other environment',
  signature_invalid: 'the signed transaction is not confirmed by a known certificate of the store',
  not_credible: 'what the store states of the transaction cannot be right',
  malformed: 'the store has no transaction ids of this form',
}

type Refused = Exclude<Evidence, { is: 'confirmed' } | { is: 'accepted' }>

/** Why evidence does not support a claim. */
export function refusalOfEvidence(evidence: Refused): ClaimRefusal {
  switch (evidence.is) {
    case 'unknown': {
      const { why = 'store_says_no', word = null } = evidence
      return new ClaimRefusal('purchase_fraud', why, `the store does not confirm the purchase: ${NOT_KNOWN[why]}`, word)
    }
    case 'other_environment':
      return new ClaimRefusal('purchase_fraud', 'other_environment', 'the store confirms the purchase for the other environment')
    case 'unconfirmed':
      return new ClaimRefusal('purchase_fraud', 'not_connected', 'no store confirms the purchase: the store is not connected')
    case 'no_answer': {
      const { isRefused, word = null } = evidence
      return isRefused
        ? new ClaimRefusal('network_error', 'credentials_refused', 'the store does not accept the credentials of the project', word)
        : new ClaimRefusal('network_error', 'store_unreachable', 'the store gave no answer', word)
    }
    default:
      return evidence satisfies never
  }
}

/** The answer of the store; null when the claim needs no confirmation. Throws `purchase_fraud` or `network_error`. */
export function acceptedConfirmation(evidence: Evidence): Extract<Evidence, { is: 'confirmed' }> | null {
  switch (evidence.is) {
    case 'confirmed':
      return evidence
    case 'accepted':
      return null
    default:
      throw refusalOfEvidence(evidence)
  }
}

/** The refusal of a product that nothing links, with the answer of the store where it does not confirm the purchase either. */
export function withStoreWord(error: unknown, evidence: Evidence): unknown {
  if (!(error instanceof Refusal) || error.code !== 'product_not_in_project' || evidence.is !== 'unknown') return error
  return new ClaimRefusal(error.code, 'product_not_linked', error.message, evidence.word, error.details)
}

/** Why a claim was refused, by what it threw. Null: it was not the claim that failed, such as of a user who is not known. */
export function attemptReason(error: Refusal): { reason: AttemptReason; word: StoreWord | null } | null {
  if (error instanceof ClaimRefusal) return { reason: error.reason, word: error.word }
  switch (error.code) {
    case 'invalid_data':
    case 'invalid_request':
    case 'invalid_product_id':
      return { reason: 'malformed', word: null }
    case 'product_not_in_project':
      return { reason: 'product_not_linked', word: null }
    default:
      return null
  }
}

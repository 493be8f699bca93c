import { plain, t } from '../../parts/t.ts'

const ATTEMPTS: Readonly<Record<string, string>> = {
  store_says_no: 'The store does not know this transaction',
  not_paid: 'The purchase is pending or incomplete',
  claim_differs: 'The store knows it with another product, plan or order',
  other_app: 'It is a purchase of another app',
  other_environment: 'It belongs to the other environment: sandbox and production differ',
  signature_invalid: 'No known certificate confirms the signed transaction',
  not_credible: 'The store states what cannot be right',
  not_connected: 'The project has not connected this store',
  credentials_refused: 'The store does not accept the credentials of the project',
  store_unreachable: 'The store gave no answer in time',
  product_not_linked: 'No product here links the product of the store',
  belongs_to_other_user: 'Another user has this purchase, and the transfer policy leaves it there',
  already_recorded: 'This user has the purchase already',
  malformed: 'The request was wrong',
  service_failed: 'The service failed; its log says why',
}

export const attemptReason = (reason: string): string => t(ATTEMPTS[reason] ?? plain(reason))

import type { Credit, Plan } from '../subscriptions/credits.ts'
import type { ProductLevel, Store } from '../subscriptions/purchase.ts'
import type { RefundPart } from '../subscriptions/refund-parts.ts'

// The reports of a store are stored as they came and never overwritten. A purchase is computed from the set of statements: for each field,
// the statement with the greatest (statedAt, sequence, tie) that states the field counts. So the order in which statements are recorded has
// no influence.

/** Who made a statement. The order of the list is the rank: of two statements of the same instant the later origin counts. */
export const ORIGINS = ['caller', 'push', 'api'] as const
export type StatementOrigin = (typeof ORIGINS)[number]

/** Times of periods: whole seconds, ISO 8601, UTC. An absent field says nothing; null says that there is none. */
export type ReportedPeriod = {
  product?: string
  basePlan?: string | null
  /** `by_product`: if the product that links the store's product is one; it has the product's duration then and never renews. */
  isSubscription?: boolean | 'by_product'
  currency?: string
  /** As charged for the whole quantity, a decimal text. */
  price?: string
  begins?: string
  /** End of the period; null for a one-time purchase. */
  ends?: string | null
  periodType?: 'normal' | 'trial' | 'intro' | null
  /** The store states a discount: what costs nothing because of it is no trial. */
  isDiscounted?: boolean
  /** The store states that the discount is for this period alone. Within a paid run, such a free period is a renewal and no trial. */
  isDiscountedOnce?: true
  /** The store calls the period a renewal: auto-renew was on at the end of the period before. Absent after a pause. */
  isRenewal?: boolean
  /** The store calls the period a purchase by the customer: it never continues a billing retry. Absent where one lineage is bought only once. */
  isNewBuy?: boolean
  /** The charge had failed before: billing retry ran from the end of the period before. */
  isRecovered?: boolean
  isFamilyShared?: boolean
  /** Two letters. */
  country?: string | null
  /** `amount` null: all of the price. `parts`: each refund, where the store lists them; absent: it states the sum and the time of the last. */
  refund?: { at: string; amount: string | null; parts?: RefundPart[] } | null
  retrySince?: string | null
  graceUntil?: string | null
  /** The store no longer grants the grace period, whatever end was announced for it. Null: it grants one. */
  graceOverAt?: string | null
  /** The store's own share for the seller, a decimal text from 0 to 1. */
  proceedsShare?: string
  /** On the store's word: the period is of a higher or lower level than the one before. */
  level?: ProductLevel
  /** Everything that the store credited of the period without a refund. */
  credits?: Credit[]
  /** Where the period is cut or prorated. Null: it is not. */
  plan?: Plan | null
}

export type ReportedRenewal = {
  autoRenews?: boolean
  /** The store charges nothing for a while and resumes later. Null: it never will, for example after the end of a run that was paused. */
  isPaused?: boolean | null
  /** The product that takes the place of this one with the next period. */
  nextProduct?: string | null
  /** Prepaid. Such a period is off without having been switched off: `autoRenews` false would be a cancellation. */
  neverRenews?: boolean
  /** The store charges no longer: the run has ended, or ends with its period. */
  gaveUp?: boolean
  /** The store gave up because it could not charge. */
  hasFailed?: boolean
  /** Whether the customer switched auto-renew off, where the store tells who did. */
  isVoluntary?: boolean
  /** On the store's word: the level of `nextProduct`, for the period that begins with it. */
  nextLevel?: 'downgrade' | null
  /** Of the next period, a decimal text. It is kept, and no event tells it. */
  renewalPrice?: string
  /** Whether the customer has accepted a higher price of the next period. */
  priceIncrease?: 'pending' | 'accepted'
  /** Another purchase token continues the lineage from then on: what is reported later of this one does not count. */
  isReplaced?: true
}

/** The ids of a transaction as `store_data` of the API shows them. */
export type TransactionIds = {
  transaction: string | null
  originalTransaction: string | null
  token: string | null
  order: string | null
  subscription: string | null
  storeType: string | null
  /** The store's name of the period, where several transaction ids may stand for one. It is never shown. */
  lineItem?: string
}

type Stated = {
  /** Store time in ms. */
  statedAt: number
  origin: StatementOrigin
  /** Of statements of one origin at the same time, the greatest counts: an answer's number of the question, a notification's number of arrival. */
  sequence?: number | null
}

/**
 * About one transaction. `subject`: the name of the transaction within its lineage; `''`: the store names none, as in Google's notifications,
 * and means the last period of the lineage that had begun at `statedAt`.
 */
export type PeriodStatement = Stated & { kind: 'period'; subject: string; ids: TransactionIds; reported: ReportedPeriod }
/** About a lineage. `subject`: the transaction that the store names with it; `''`: none. `token`: the purchase token that it names instead. */
export type RenewalStatement = Stated & { kind: 'renewal'; subject: string; token?: string; reported: ReportedRenewal }
export type Statement = PeriodStatement | RenewalStatement

/** A catalogue event that a notification is by itself: 18 and 19. `id`: the store's name of the notification; `at` in ms. */
export type Notice = { slug: string; id: string; at: number; subject: string | null }

/**
 * Everything that was learnt of one lineage at a time: from notifications, from an answer of the store, or from both.
 * `lineage`: the name by which the lineage is known; `aliases`: further names that the store gives the same lineage. `accountId`: what the app
 * told the store about the account, not looked up yet. `isWhole`: the store reported the whole history of the lineage. `alerts`: what the
 * operator must change at the store, in the words of the alerts.
 */
export type StoreReport = {
  platform: Store
  lineage: string
  aliases: string[]
  accountId: string | null
  statements: Statement[]
  notices: Notice[]
  isWhole: boolean
  alerts?: string[]
}

/** The reports with the number that orders their statements. */
export const inSequence = (reports: readonly StoreReport[], sequence: number): StoreReport[] =>
  reports.map(report => ({ ...report, statements: report.statements.map(statement => ({ ...statement, sequence })) }))

import type { AppleChain } from './apple-chain.ts'
import { type AppleEnvironmentWord, type AppleNotification, appleJws, appleNotification, BUNDLE, type Json } from './apple-jws.ts'

export const MONTH_MS = 30 * 86_400_000
export const MONTHLY = 'com.example.monthly'
export const YEARLY = 'com.example.yearly'

/** What Apple knows of a lineage; the server in Apple's place answers from it. `status` as of the API. */
export type AppleLineageState = { transactions: Json[]; renewal: Json | null; status: number; group: string | null }

export type SubscriptionSetup = { environment?: AppleEnvironmentWord; account?: string; milliunits?: number; storefront?: string }

const STATUS = { active: 1, expired: 2, retry: 3, grace: 4, revoked: 5 } as const
let lineages = 0
const nextId = () => String(2_000_000_000_000 + ++lineages)

/**
 * A subscription at Apple: each step of its life changes what Apple knows, and returns the notification that Apple posts. Times are in ms. The steps may be
 * told in another order, or not at all: notifications are complete by themselves.
 */
export function appleSubscription(chain: AppleChain, setup: SubscriptionSetup = {}) {
  const { environment = 'Production', account, milliunits = 9990, storefront = 'USA' } = setup
  const lineage = nextId()
  const state: AppleLineageState = { transactions: [], renewal: null, status: STATUS.active, group: '20001' }
  const last = (): Json => state.transactions.at(-1)!

  const transactionNow = (transaction: Json, at: number) => appleJws(chain, { ...transaction, signedDate: at })
  function posted(type: string, subtype: string | null, at: number, transaction: Json = last()): AppleNotification {
    const signedTransactionInfo = transactionNow(transaction, at)
    const signedRenewalInfo = appleJws(chain, { ...state.renewal, signedDate: at })
    return appleNotification(chain, { type, subtype, at, environment, data: { signedTransactionInfo, signedRenewalInfo } })
  }

  function begin(at: number, changes: Json): void {
    const transactionId = state.transactions.length === 0 ? lineage : nextId()
    const productId = (changes.productId ?? state.renewal?.autoRenewProductId ?? MONTHLY) as string
    const transaction: Json = {
      transactionId,
      originalTransactionId: lineage,
      bundleId: BUNDLE,
      productId,
      subscriptionGroupIdentifier: state.group,
      purchaseDate: at,
      originalPurchaseDate: state.transactions[0]?.purchaseDate ?? at,
      expiresDate: at + (productId === YEARLY ? 12 : 1) * MONTH_MS,
      quantity: 1,
      type: 'Auto-Renewable Subscription',
      inAppOwnershipType: 'PURCHASED',
      transactionReason: 'PURCHASE',
      environment,
      storefront,
      storefrontId: '143441',
      price: milliunits,
      currency: 'USD',
      ...(account && { appAccountToken: account }),
      ...changes,
    }
    state.transactions.push(transaction)
    state.status = STATUS.active
    state.renewal = {
      originalTransactionId: lineage,
      productId,
      autoRenewProductId: productId,
      autoRenewStatus: 1,
      isInBillingRetryPeriod: false,
      environment,
      renewalDate: transaction.expiresDate,
      renewalPrice: milliunits,
      currency: 'USD',
    }
  }

  const renewalIs = (changes: Json): void => {
    state.renewal = { ...state.renewal, ...changes }
  }
  /** Of a transaction, by its index; the last one unless given. */
  const transactionIs = (changes: Json, index = -1): Json => Object.assign(state.transactions.at(index)!, changes)

  return {
    lineage,
    state,
    last,
    /** Signs the last transaction as a device has it. */
    signedTransaction: (at: number, changes: Json = {}) => transactionNow({ ...last(), ...changes }, at),
    posted,
    subscribe(at: number, changes: Json = {}) {
      const isFirst = state.transactions.length === 0
      begin(at, changes)
      return posted('SUBSCRIBED', isFirst ? 'INITIAL_BUY' : 'RESUBSCRIBE', at)
    },
    startTrial(at: number) {
      begin(at, { price: 0, offerType: 1, offerDiscountType: 'FREE_TRIAL' })
      return posted('SUBSCRIBED', 'INITIAL_BUY', at)
    },
    renew(at: number, changes: Json = {}) {
      begin(last().expiresDate as number, { transactionReason: 'RENEWAL', ...changes })
      return posted('DID_RENEW', null, at)
    },
    failToRenew(at: number, graceUntil: number | null) {
      renewalIs({ isInBillingRetryPeriod: true, expirationIntent: 2, ...(graceUntil !== null && { gracePeriodExpiresDate: graceUntil }) })
      state.status = graceUntil === null ? STATUS.retry : STATUS.grace
      return posted('DID_FAIL_TO_RENEW', graceUntil === null ? null : 'GRACE_PERIOD', at)
    },
    endGrace(at: number) {
      renewalIs({ gracePeriodExpiresDate: undefined })
      state.status = STATUS.retry
      return posted('GRACE_PERIOD_EXPIRED', null, at)
    },
    recover(at: number) {
      begin(at, { transactionReason: 'RENEWAL' })
      return posted('DID_RENEW', 'BILLING_RECOVERY', at)
    },
    switchAutoRenew(at: number, isOn: boolean) {
      renewalIs({ autoRenewStatus: isOn ? 1 : 0 })
      return posted('DID_CHANGE_RENEWAL_STATUS', isOn ? 'AUTO_RENEW_ENABLED' : 'AUTO_RENEW_DISABLED', at)
    },
    upgrade(at: number, productId: string, price: number) {
      transactionIs({ isUpgraded: true })
      begin(at, { productId, price })
      return posted('DID_CHANGE_RENEWAL_PREF', 'UPGRADE', at)
    },
    /** From the next renewal on; `null` takes it back. */
    downgrade(at: number, productId: string | null) {
      renewalIs({ autoRenewProductId: productId ?? state.renewal!.productId })
      return posted('DID_CHANGE_RENEWAL_PREF', productId === null ? null : 'DOWNGRADE', at)
    },
    expire(at: number, why: 'VOLUNTARY' | 'BILLING_RETRY') {
      renewalIs({ isInBillingRetryPeriod: false, autoRenewStatus: 0, expirationIntent: why === 'VOLUNTARY' ? 1 : 2 })
      state.status = STATUS.expired
      return posted('EXPIRED', why, at)
    },
    /** `percentage` in thousandths of a percent; absent: all. */
    refund(at: number, percentage?: number, index = -1) {
      const part =
        percentage === undefined
          ? { revocationType: 'REFUND_FULL' }
          : { revocationType: 'REFUND_PRORATED', revocationPercentage: percentage }
      return posted('REFUND', null, at, transactionIs({ revocationDate: at, revocationReason: 0, ...part }, index))
    },
    reverseRefund(at: number, index = -1) {
      const none = { revocationDate: undefined, revocationReason: undefined, revocationType: undefined, revocationPercentage: undefined }
      return posted('REFUND_REVERSED', null, at, transactionIs(none, index))
    },
    revoke(at: number) {
      state.status = STATUS.revoked
      return posted('REVOKE', null, at, transactionIs({ revocationDate: at, revocationType: 'FAMILY_REVOKE' }))
    },
    extend(at: number, until: number) {
      transactionIs({ expiresDate: until })
      renewalIs({ renewalDate: until })
      return posted('RENEWAL_EXTENDED', null, at)
    },
  }
}

export type AppleSubscription = ReturnType<typeof appleSubscription>

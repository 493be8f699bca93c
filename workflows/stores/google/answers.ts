// The fields of Google's answers that are read. Google leaves out values that are zero, false or empty. Enumerations stay texts: an unknown
// value states nothing.

export type Money = { currencyCode?: string; units?: string; nanos?: number }

export type SubscriptionLine = {
  productId?: string
  expiryTime?: string
  /** Absent: the line is not owned yet. */
  latestSuccessfulOrderId?: string
  autoRenewingPlan?: { autoRenewEnabled?: boolean; recurringPrice?: Money }
  prepaidPlan?: object
  offerDetails?: { basePlanId?: string }
  offerPhase?: { freeTrial?: object; introductoryPrice?: object }
  deferredItemReplacement?: { productId?: string }
  deferredItemRemoval?: object
  itemReplacement?: { productId?: string; basePlanId?: string; replacementMode?: string }
}

type AccountIds = { obfuscatedExternalAccountId?: string }

/** purchases.subscriptionsv2 */
export type SubscriptionAnswer = {
  subscriptionState?: string
  regionCode?: string
  startTime?: string
  lineItems?: SubscriptionLine[]
  linkedPurchaseToken?: string
  canceledStateContext?: {
    userInitiatedCancellation?: { cancelTime?: string }
    systemInitiatedCancellation?: object
    developerInitiatedCancellation?: object
    replacementCancellation?: object
  }
  externalAccountIdentifiers?: AccountIds
  outOfAppPurchaseContext?: { expiredPurchaseToken?: string; expiredExternalAccountIdentifiers?: AccountIds }
  acknowledgementState?: string
  testPurchase?: object
}

/** purchases.productsv2 */
export type OneTimeAnswer = {
  orderId?: string
  regionCode?: string
  purchaseCompletionTime?: string
  purchaseStateContext?: { purchaseState?: string }
  productLineItem?: { productId?: string }[]
  obfuscatedExternalAccountId?: string
  acknowledgementState?: string
  testPurchaseContext?: object
}

export type OrderLine = {
  productId?: string
  total?: Money
  subscriptionDetails?: {
    basePlanId?: string
    servicePeriodStartTime?: string
    servicePeriodEndTime?: string
    offerPhaseDetails?: {
      freeTrialDetails?: object
      introductoryPriceDetails?: object
      baseDetails?: object
      prorationPeriodDetails?: object
    }
  }
}

type RefundDetails = { total?: Money }

/** orders */
export type Order = {
  orderId?: string
  purchaseToken?: string
  state?: string
  createTime?: string
  buyerAddress?: { buyerCountry?: string }
  total?: Money
  developerRevenueInBuyerCurrency?: Money
  lineItems?: OrderLine[]
  /** Play Points that were used for this order. */
  pointsDetails?: { pointsCouponValue?: Money; pointsDiscountRateMicros?: string }
  orderHistory?: {
    processedEvent?: { eventTime?: string }
    refundEvent?: { eventTime?: string; refundDetails?: RefundDetails }
    partialRefundEvents?: { createTime?: string; processTime?: string; state?: string; refundDetails?: RefundDetails }[]
  }
}

/** purchases.voidedpurchases */
export type VoidedAnswer = {
  voidedPurchases?: { purchaseToken?: string; orderId?: string; voidedTimeMillis?: string; voidedQuantity?: number }[]
  tokenPagination?: { nextPageToken?: string }
}

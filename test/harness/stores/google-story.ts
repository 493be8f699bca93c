import type { Money, Order, SubscriptionAnswer } from '../../../workflows/stores/google/answers.ts'
import { type PlayServer, pushBody } from './google.ts'

/** Numbers of `subscriptionNotification`. */
const PUSHED = { recovered: 1, renewed: 2, canceled: 3, purchased: 4, onHold: 5, inGrace: 6, restarted: 7, revoked: 12, expired: 13 }

const DAY_MS = 86_400_000
const iso = (ms: number) => new Date(ms).toISOString()
const money = (price: string, currencyCode: string): Money => {
  const [units, fraction = ''] = price.split('.')
  const nanos = Number(fraction.padEnd(9, '0'))
  return { currencyCode, ...(units !== '0' && { units: units! }), ...(nanos !== 0 && { nanos }) }
}

export type StoryOptions = {
  token: string
  order?: string
  product?: string
  basePlan?: string
  price?: string
  currency?: string
  country?: string
  days?: number
  /** Days of a free trial before the first charge. */
  trialDays?: number
  accountId?: string
  isSandbox?: boolean
  linkedToken?: string
}

/**
 * The life of one subscription at Google. Each step changes what the server answers and returns the push that Google sends for it, which a test
 * may deliver, delay, repeat or lose. Times in ms.
 */
export function playStory(server: PlayServer, options: StoryOptions) {
  const { token, order = 'GPA.1111-2222-3333-44444', product = 'pro', basePlan = 'monthly', price = '9.99', currency = 'EUR' } = options
  const { country = 'DE', days = 30, trialDays = 0, accountId, isSandbox = false, linkedToken } = options
  let orders = 0
  let pushes = 0
  let ends = 0
  const latest = () => (orders === 1 ? order : `${order}..${orders - 2}`)
  const answer = (): SubscriptionAnswer => server.subscriptions.get(token)!

  function push(kind: keyof typeof PUSHED, at: number) {
    const subscriptionNotification = { version: '1.0', notificationType: PUSHED[kind], purchaseToken: token }
    const id = `${token}-${++pushes}`
    return { id, at, body: pushBody({ eventTimeMillis: String(at), subscriptionNotification }, id) }
  }

  function charge(at: number, isTrial: boolean) {
    orders += 1
    ends = at + (isTrial ? trialDays : days) * DAY_MS
    const total = money(isTrial ? '0' : price, currency)
    server.orders.set(latest(), {
      orderId: latest(),
      purchaseToken: token,
      state: 'PROCESSED',
      createTime: iso(at),
      buyerAddress: { buyerCountry: country },
      total,
      developerRevenueInBuyerCurrency: money(isTrial ? '0' : (Number(price) * 0.85).toFixed(6), currency),
      orderHistory: { processedEvent: { eventTime: iso(at) } },
      lineItems: [
        {
          productId: product,
          total,
          subscriptionDetails: {
            basePlanId: basePlan,
            servicePeriodStartTime: iso(at),
            servicePeriodEndTime: iso(ends),
            offerPhaseDetails: isTrial ? { freeTrialDetails: {} } : { baseDetails: {} },
          },
        },
      ],
    })
  }

  function state(word: string, isOn: boolean, expiry: number, more: Partial<SubscriptionAnswer> = {}) {
    const { canceledStateContext: _, ...kept } = answer()
    const plan = { recurringPrice: money(price, currency), ...(isOn && { autoRenewEnabled: true }) }
    const line = { ...kept.lineItems![0]!, expiryTime: iso(expiry), latestSuccessfulOrderId: latest(), autoRenewingPlan: plan }
    server.subscriptions.set(token, { ...kept, subscriptionState: `SUBSCRIPTION_STATE_${word}`, lineItems: [line], ...more })
  }

  const canceledByUser = (at: number) => ({ canceledStateContext: { userInitiatedCancellation: { cancelTime: iso(at) } } })

  /** All of an order, or a part of it. Google tells it by a voided purchase. */
  function refund(at: number, amount: string | null = null, of = latest()) {
    const found = server.orders.get(of)!
    const details = { total: amount === null ? found.total! : money(amount, currency) }
    const partial = { createTime: iso(at), processTime: iso(at), state: 'PROCESSED_SUCCESSFULLY', refundDetails: details }
    const history: Order['orderHistory'] =
      amount === null
        ? { ...found.orderHistory, refundEvent: { eventTime: iso(at), refundDetails: details } }
        : { ...found.orderHistory, partialRefundEvents: [...(found.orderHistory?.partialRefundEvents ?? []), partial] }
    server.orders.set(of, { ...found, state: amount === null ? 'REFUNDED' : 'PARTIALLY_REFUNDED', orderHistory: history })
    server.voided.push({ purchaseToken: token, orderId: of, voidedTimeMillis: String(at) })
    const id = `${token}-${++pushes}`
    const voidedPurchaseNotification = { purchaseToken: token, orderId: of, productType: 1, refundType: amount === null ? 1 : 2 }
    return { id, at, body: pushBody({ eventTimeMillis: String(at), voidedPurchaseNotification }, id) }
  }

  return {
    token,
    latestOrder: latest,
    endsAt: () => ends,
    answer,
    subscribe(at: number) {
      charge(at, trialDays > 0)
      server.subscriptions.set(token, {
        startTime: iso(at),
        regionCode: country,
        acknowledgementState: 'ACKNOWLEDGEMENT_STATE_PENDING',
        lineItems: [{ productId: product, offerDetails: { basePlanId: basePlan } }],
        ...(accountId !== undefined && { externalAccountIdentifiers: { obfuscatedExternalAccountId: accountId } }),
        ...(isSandbox && { testPurchase: {} }),
        ...(linkedToken !== undefined && { linkedPurchaseToken: linkedToken }),
      })
      state('ACTIVE', true, ends)
      return push('purchased', at)
    },
    renew(at = ends) {
      charge(at, false)
      state('ACTIVE', true, ends)
      return push('renewed', at)
    },
    cancel(at: number) {
      state('CANCELED', false, ends, canceledByUser(at))
      return push('canceled', at)
    },
    restart(at: number) {
      state('ACTIVE', true, ends)
      return push('restarted', at)
    },
    /** The charge at the end has failed; access goes on for the days of the grace. */
    grace(at = ends, graceDays = 7) {
      state('IN_GRACE_PERIOD', true, ends + graceDays * DAY_MS)
      return push('inGrace', at)
    },
    hold(at = ends) {
      state('ON_HOLD', true, ends)
      return push('onHold', at)
    },
    recover(at: number) {
      charge(at, false)
      state('ACTIVE', true, ends)
      return push('recovered', at)
    },
    /** `at`: after the end, or after the hold. */
    expire(at = ends) {
      const context = answer().canceledStateContext ?? { systemInitiatedCancellation: {} }
      state('EXPIRED', false, ends, { canceledStateContext: context })
      return push('expired', at)
    },
    /** Another purchase continues this one; the push is that of its end. */
    replace(at: number) {
      state('EXPIRED', false, at, { canceledStateContext: { replacementCancellation: {} } })
      return push('expired', at)
    },
    refund,
    /** Refunded and ended at once. */
    revoke(at: number) {
      refund(at)
      state('EXPIRED', false, at, { canceledStateContext: { developerInitiatedCancellation: {} } })
      return push('revoked', at)
    },
  }
}

import { claim, claimEach } from './claim.ts'
import { claimedPurchase, claimedPurchases } from './claimed.ts'
import { SdkProblem } from './errors.ts'
import { launched } from './launch-result.ts'
import { inApp } from './operation.ts'
import { claimReceipt } from './receipt.ts'

/** Purchases of one request. */
const MOST_PURCHASES = 50

/** Android wraps each purchase. */
const unwrapped = (items: unknown[]): unknown[] =>
  items.map(item => (typeof item === 'object' && item !== null && 'purchase' in item ? item.purchase : item))

export const sdkInitUser = inApp('sdkInitUser', async call => {
  const { body, user, platform } = call
  if (body.purchases) await claimEach(call, claimedPurchases(unwrapped(body.purchases), user.now, MOST_PURCHASES))
  if (platform === 'iOS') await claimReceipt(call, body.receipt)
  return launched(call)
})

export const sdkCreatePurchase = inApp('sdkCreatePurchase', async call => {
  const { body, user } = call
  const input = claimedPurchase(body.purchase, user.now)
  if (input) await claim(call, input, body.purchase.product_id)
  else if ((await claimReceipt(call, body.receipt, { isAwaited: true })) === 0)
    throw new SdkProblem('wrongPurchase', 'purchase.transaction_id is required, and the receipt tells none')
  return launched(call)
})

export const sdkRestorePurchases = inApp('sdkRestorePurchases', async call => {
  await claimEach(call, claimedPurchases(call.body.history, call.user.now, MOST_PURCHASES))
  return launched(call)
})

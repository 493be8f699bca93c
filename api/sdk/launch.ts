import { screensOfContexts } from '../../domain/growth/screens/published.ts'
import { claim, claimEach } from './claim.ts'
import { claimedPurchase, claimedPurchases, contextKeysOf, type Screens } from './claimed.ts'
import { SdkProblem } from './errors.ts'
import { launched } from './launch-result.ts'
import { inApp, type SdkCaller } from './operation.ts'
import { claimReceipt } from './receipt.ts'

/** Purchases of one request. */
const MOST_PURCHASES = 50

/** Android sends each purchase inside an object. */
const unwrapped = (items: unknown[]): unknown[] =>
  items.map(item => (typeof item === 'object' && item !== null && 'purchase' in item ? item.purchase : item))

/** The screens of the contexts that the purchases name. */
async function screensOf({ inTurn, deps, environment }: SdkCaller, purchases: unknown[]): Promise<Screens> {
  const keys = contextKeysOf(purchases)
  return keys.length === 0 ? new Map() : inTurn(() => screensOfContexts(deps.listing, environment, keys))
}

export const sdkInitUser = inApp('sdkInitUser', async call => {
  const { body, user, platform } = call
  if (body.purchases) {
    const purchases = unwrapped(body.purchases)
    await claimEach(call, claimedPurchases(purchases, user.now, MOST_PURCHASES, await screensOf(call, purchases)))
  }
  if (platform === 'iOS') await claimReceipt(call, body.receipt)
  return launched(call)
})

export const sdkCreatePurchase = inApp('sdkCreatePurchase', async call => {
  const { body, user } = call
  const input = claimedPurchase(body.purchase, user.now, await screensOf(call, [body.purchase]))
  if (input) await claim(call, input, body.purchase.product_id)
  else {
    const { lineages, problem: cause } = await claimReceipt(call, body.receipt, { isAwaited: true })
    if (lineages === 0) throw new SdkProblem('wrongPurchase', 'purchase.transaction_id is required, and the receipt tells none', { cause })
  }
  return launched(call)
})

export const sdkRestorePurchases = inApp('sdkRestorePurchases', async call => {
  await claimEach(call, claimedPurchases(call.body.history, call.user.now, MOST_PURCHASES))
  return launched(call)
})

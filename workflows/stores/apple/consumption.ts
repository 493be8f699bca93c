import { DeliveryStatus, RefundPreference } from '@apple/app-store-server-library'
import type { FetchContext } from '../store-client.ts'
import { type AppleAnswer, type AppleDeps, fetchFromApple } from './app-store-api.ts'
import { isAppleId } from './refresh-lineage.ts'

/** The project's preference for Apple's decision about a refund. */
export type AppleRefundWish = 'decline' | 'grant_full'

const PREFERENCE = { decline: RefundPreference.DECLINE, grant_full: RefundPreference.GRANT_FULL } as const

/**
 * Answers Apple's request for consumption information, within 12 h of the request. Apple requires the customer's consent. The answer may be
 * repeated.
 */
export async function sendAppleConsumption(
  deps: AppleDeps,
  transaction: string,
  wish: AppleRefundWish,
  context: FetchContext,
): Promise<AppleAnswer<null>> {
  if (!isAppleId(transaction)) return { is: 'unknown' }
  return fetchFromApple(deps, context, async api => {
    await api.sendConsumptionInformation(transaction, {
      customerConsented: true,
      deliveryStatus: DeliveryStatus.DELIVERED,
      sampleContentProvided: false,
      refundPreference: PREFERENCE[wish],
    })
    return null
  })
}

import type { FetchContext } from '../store-client.ts'
import { type AppleAnswer, type AppleDeps, fetchFromApple } from './app-store-api.ts'
import { notificationBody } from './signed-payload.ts'

/**
 * Times in ms. `onlyFailures`: only notifications that did not reach the service. Apple lists only notifications that it attempted to send,
 * up to 180 days back (sandbox: 30).
 */
export type AppleHistoryRange = { fromMs: number; toMs: number; onlyFailures: boolean }

/** `bodies`: the notifications as Apple posts them, at most 20. `next`: the token of the next page; null: there is none. */
export type AppleHistoryPage = { bodies: Uint8Array[]; next: string | null }

export async function appleNotificationHistory(
  deps: AppleDeps,
  { fromMs, toMs, onlyFailures }: AppleHistoryRange,
  token: string | null,
  context: FetchContext,
): Promise<AppleAnswer<AppleHistoryPage>> {
  return fetchFromApple(deps, context, async api => {
    const range = { startDate: fromMs, endDate: toMs, ...(onlyFailures && { onlyFailures }) }
    const { notificationHistory = [], hasMore, paginationToken } = await api.getNotificationHistory(token, range)
    const bodies = notificationHistory.flatMap(({ signedPayload }) =>
      signedPayload === undefined ? [] : [notificationBody(signedPayload)],
    )
    return { bodies, next: hasMore === true ? (paginationToken ?? null) : null }
  })
}

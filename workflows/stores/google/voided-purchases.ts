import type { FetchContext, Swept, SweptNotification } from '../store-client.ts'
import type { VoidedAnswer } from './answers.ts'
import { FORBIDDEN, fetchFromPlay, type PlayDeps } from './developer-api.ts'
import { decodePush, signedNotification } from './notification.ts'

/** Google lists the last 30 days; an older time is an error. */
const REACH_MS = 30 * 24 * 3_600_000
const PAGE = '1000'

type Voided = NonNullable<VoidedAnswer['voidedPurchases']>[number]

function swept({ purchaseToken, orderId, voidedTimeMillis, voidedQuantity }: Voided, packageName: string): SweptNotification[] {
  if (purchaseToken === undefined || voidedTimeMillis === undefined) return []
  const voidedPurchaseNotification = { purchaseToken, ...(orderId !== undefined && { orderId }) }
  const data = JSON.stringify({ packageName, eventTimeMillis: voidedTimeMillis, voidedPurchaseNotification })
  const messageId = ['voided', orderId ?? purchaseToken, voidedTimeMillis, ...(voidedQuantity ? [voidedQuantity] : [])].join(':')
  const body = Buffer.from(JSON.stringify({ message: { data: Buffer.from(data).toString('base64'), messageId } }))
  const decoded = decodePush(body)
  const notification = typeof decoded === 'string' ? null : signedNotification(decoded)
  return notification ? [{ notification, body }] : []
}

/** For sweeps: purchases that Google reports as voided since a time in ms, at most 30 days ago, page by page, in the form of pushes. */
export async function* voidedPurchases(deps: PlayDeps, sinceMs: number, context: FetchContext): AsyncGenerator<Swept, void, void> {
  const packageName = context.settings.value('package_name') ?? ''
  const startTime = String(Math.max(sinceMs, deps.now() - REACH_MS + 60_000))
  const common = { type: '1', includeQuantityBasedPartialRefund: 'true', maxResults: PAGE }
  let query = new URLSearchParams({ ...common, startTime })
  for (;;) {
    const answer = await fetchFromPlay<VoidedAnswer>(deps, { method: 'GET', path: 'purchases/voidedpurchases', query }, context)
    if (answer.is !== 'answer') return yield answer.is === 'forbidden' ? FORBIDDEN : answer
    const { voidedPurchases: voided = [], tokenPagination } = answer.body
    yield { is: 'swept', notifications: voided.flatMap(one => swept(one, packageName)) }
    const token = tokenPagination?.nextPageToken
    if (token === undefined) return
    query = new URLSearchParams({ ...common, token })
  }
}

import type { FetchContext, Gate, StoreClient, Swept, SweptNotification } from '../store-client.ts'
import type { AppleAnswer } from './app-store-api.ts'
import type { AppleHistoryPage, AppleHistoryRange } from './notification-history.ts'

type Client = Pick<StoreClient, 'verify'> & {
  notificationHistory(range: AppleHistoryRange, token: string | null, context: FetchContext): Promise<AppleAnswer<AppleHistoryPage>>
}

/**
 * A notification from Apple's history is accepted like a push: only if its own signature is valid, for the app and the environment. A
 * single signature may be invalid. When no signature of a page is valid, the root certificates of this service are rather the cause, and
 * the page is fetched again.
 */
async function verified(client: Client, bodies: readonly Uint8Array[], { settings, environment }: FetchContext): Promise<Swept> {
  const notifications: SweptNotification[] = []
  let unauthorized = 0
  for (const body of bodies) {
    const gate: Gate = await client.verify({ body, headers: {}, address: '', receivedAtMs: Date.now() }, settings)
    if (gate.is === 'unavailable') return { is: 'later', why: gate.reason, afterMs: null }
    if (gate.is === 'unauthorized') unauthorized += 1
    if (gate.is === 'accepted' && gate.notification.environment === environment)
      notifications.push({ notification: gate.notification, body })
  }
  if (unauthorized > 0 && unauthorized === bodies.length) return { is: 'later', why: 'signature_invalid', afterMs: null }
  return { is: 'swept', notifications }
}

/** For sweeps: the notifications that Apple attempted to post, or only those that failed, page by page. */
export async function* sweptNotifications(
  client: Client,
  { fromMs, toMs, isWhole }: { fromMs: number; toMs: number; isWhole: boolean },
  context: FetchContext,
): AsyncGenerator<Swept, void, void> {
  const range = { fromMs, toMs, onlyFailures: !isWhole }
  let token: string | null = null
  do {
    const page: AppleAnswer<AppleHistoryPage> = await client.notificationHistory(range, token, context)
    if (page.is !== 'answer') return yield page
    const swept = await verified(client, page.value.bodies, context)
    yield swept
    if (swept.is !== 'swept') return
    token = page.value.next
  } while (token !== null)
}

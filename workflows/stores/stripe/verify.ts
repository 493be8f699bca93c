import Stripe from 'stripe'
import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import { type StoreKeys, storeKeys } from '../../../domain/purchases/stores/config.ts'
import type { Arrival, Gate, StoreSettings } from '../store-client.ts'
import { decodeStripeEvent, signedStripeEvent } from './events.ts'

const TOLERANCE_SECONDS = 300

/**
 * Checks that the SDK lacks: a part of the header without a value, at which the SDK throws as for a defect, and a time in the future. The
 * SDK uses the last `t` as the signed time.
 */
function isOutOfForm(header: string, nowMs: number): boolean {
  const parts = header.split(',')
  if (!parts.every(part => /^\w+=[^=]/.test(part))) return true
  const signedAt = Number.parseInt(parts.findLast(part => part.startsWith('t='))?.slice(2) ?? '', 10)
  return signedAt > Math.floor(nowMs / 1000) + TOLERANCE_SECONDS
}

/** The SDK's helper without `Async` does not work on Deno. */
async function isSignedBy(secret: string, body: Uint8Array, header: string, nowMs: number): Promise<boolean> {
  const { signature } = Stripe.webhooks
  if (!signature) throw new Error('the SDK of Stripe has no helper for signatures')
  try {
    return await signature.verifyHeaderAsync(body, header, secret, TOLERANCE_SECONDS, undefined, nowMs)
  } catch (error) {
    if (error instanceof Stripe.errors.StripeSignatureVerificationError) return false
    throw error
  }
}

type Pair = StoreKeys & { environment: EnvironmentKind }

/** Verifies the sender before the body is read: other senders get the same answer for every body. */
export async function verifyStripeWebhook({ body, headers }: Arrival, settings: StoreSettings, nowMs: number): Promise<Gate> {
  if (!settings.enabled) return { is: 'unavailable', reason: 'off' }
  const pairs = (['production', 'sandbox'] as const).map(
    (environment): Pair => ({ environment, ...storeKeys(environment, settings.value) }),
  )
  if (pairs.every(({ apiKey }) => apiKey === null)) return { is: 'unavailable', reason: 'not_connected' }
  if (pairs.every(({ webhookSecret }) => webhookSecret === null)) return { is: 'unavailable', reason: 'webhook_secret_missing' }
  const header = headers['stripe-signature'] ?? ''
  if (isOutOfForm(header, nowMs)) return { is: 'unauthorized' }
  const signed: Pair[] = []
  for (const pair of pairs)
    if (pair.webhookSecret !== null && (await isSignedBy(pair.webhookSecret, body, header, nowMs))) signed.push(pair)
  if (signed.length === 0) return { is: 'unauthorized' }
  const event = decodeStripeEvent(body)
  if (typeof event === 'string') return { is: 'malformed', message: event }
  if (event.isConnect) return { is: 'foreign', reason: 'connect_account' }
  const pair = signed.find(({ environment }) => event.isLive === (environment === 'production'))
  if (!pair) return { is: 'foreign', reason: 'livemode' }
  if (pair.apiKey === null) return { is: 'unavailable', reason: 'not_connected' }
  const notification = signedStripeEvent(event)
  return notification ? { is: 'accepted', notification } : { is: 'ignored', type: event.type, isTest: false }
}

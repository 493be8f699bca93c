import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import { storeKeys } from '../../../domain/purchases/stores/config.ts'
import type { Arrival, Gate, StoreSettings } from '../store-client.ts'
import { decodePaddleEvent, signedPaddleEvent } from './event.ts'
import { isSignedByPaddle } from './signature.ts'

const ENVIRONMENTS: EnvironmentKind[] = ['production', 'sandbox']

/**
 * Verifies the sender of a notification before its body is read: other senders get the same answer for every body. A body does not name its
 * environment: the environment is that of the secret with which it is signed.
 */
export async function verifyPaddleEvent({ body, headers, receivedAtMs }: Arrival, settings: StoreSettings): Promise<Gate> {
  if (!settings.enabled) return { is: 'unavailable', reason: 'off' }
  const pairs = ENVIRONMENTS.map(environment => ({ environment, ...storeKeys(environment, settings.value) }))
  if (pairs.every(({ webhookSecret }) => webhookSecret === null)) return { is: 'unavailable', reason: 'webhook_secret' }
  const signer = pairs.find(
    ({ webhookSecret }) => webhookSecret !== null && isSignedByPaddle(headers['paddle-signature'], body, webhookSecret, receivedAtMs),
  )
  if (!signer) return { is: 'unauthorized' }
  if (signer.apiKey === null) return { is: 'unavailable', reason: 'not_connected' }
  const event = decodePaddleEvent(body)
  if (typeof event === 'string') return { is: 'malformed', message: event }
  const notification = signedPaddleEvent(event, signer.environment)
  return notification ? { is: 'accepted', notification } : { is: 'ignored', type: event.event_type, isTest: false }
}

import { serviceAccount } from '../../outgoing/google-token.ts'
import type { Arrival, Gate, StoreSettings } from '../store-client.ts'
import type { CertificatesFor } from './certificates.ts'
import { decodePush, signedNotification } from './notification.ts'
import { judgePushToken, type Pushers } from './push-token.ts'

function pushersOf(settings: StoreSettings): Pushers | null {
  const only = settings.value('push_service_account')
  if (only !== null) return { only }
  const account = serviceAccount(settings.value('service_account_key'))
  return account && { account }
}

/** Verifies the sender before the body is read: other senders get the same answer for every body. */
export async function verifyPush(
  { body, headers, address }: Arrival,
  settings: StoreSettings,
  certificatesFor: (kid: string) => Promise<CertificatesFor>,
  nowMs: () => number,
): Promise<Gate> {
  if (!settings.enabled) return { is: 'unavailable', reason: 'off' }
  const packageName = settings.value('package_name')
  const pushers = pushersOf(settings)
  if (packageName === null || settings.value('service_account_key') === null || !pushers)
    return { is: 'unavailable', reason: 'not_connected' }
  const verdict = await judgePushToken(headers.authorization, address, pushers, certificatesFor, nowMs)
  if (verdict === 'wrong') return { is: 'unauthorized' }
  if (verdict === 'unavailable') return { is: 'unavailable', reason: 'certificates' }
  const decoded = decodePush(body)
  if (typeof decoded === 'string') return { is: 'malformed', message: decoded }
  if (decoded.packageName !== packageName) return { is: 'foreign', reason: 'package' }
  const notification = signedNotification(decoded)
  const { kind } = decoded.content
  return notification ? { is: 'accepted', notification } : { is: 'ignored', type: kind, isTest: kind === 'test' }
}

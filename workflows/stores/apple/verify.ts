import { VerificationException } from '@apple/app-store-server-library'
import type { Arrival, Gate, StoreSettings } from '../store-client.ts'
import { meaningOf } from './notification-meaning.ts'
import { appleSignaturesFor, ForeignSignature, isSignedInTime, isUndecided, type SignatureRules } from './signed-data.ts'
import { lineageIn, signedPayloadIn, statedEnvironment, unverified } from './signed-payload.ts'

const TEST = 'TEST'

/** The answer to the sender for an error of the verifier. */
function refused(error: unknown): Gate {
  if (isUndecided(error)) return { is: 'unavailable', reason: 'certificates_undecided' }
  if (error instanceof ForeignSignature) return { is: 'foreign', reason: error.reason }
  if (error instanceof VerificationException) return { is: 'unauthorized' }
  throw error
}

/** Verifies the outer signature of a notification, and its app and environment. The inner content is verified when the notification is read. */
export async function verifyAppleNotification(rules: SignatureRules, { body }: Arrival, settings: StoreSettings): Promise<Gate> {
  const signedPayload = signedPayloadIn(body)
  if (signedPayload === null) return { is: 'malformed', message: 'must be a JSON object with signedPayload' }
  if (!settings.enabled) return { is: 'unavailable', reason: 'switched_off' }
  const bundleId = settings.value('bundle_id')
  if (bundleId === null) return { is: 'unavailable', reason: 'bundle_id_missing' }

  const stated = unverified(signedPayload)
  if (!stated || !isSignedInTime(stated.signedDate, rules.now())) return { is: 'unauthorized' }
  const environment = statedEnvironment(stated)
  if (environment === 'xcode' || environment === 'local_testing') return { is: 'foreign', reason: environment }
  const verifier = appleSignaturesFor(rules, settings, bundleId, environment)
  try {
    const payload = await verifier.verifyAndDecodeNotification(signedPayload)
    const { notificationUUID: id, notificationType: type, subtype = null } = payload
    if (!id || !type) return { is: 'malformed', message: 'has no notificationUUID or no notificationType' }
    if (meaningOf(type, subtype) === null) return { is: 'ignored', type, isTest: type === TEST, environment }
    // A notification without a lineage is recorded all the same: it is set aside visibly when it is read.
    const queue = lineageIn(payload) ?? `notification:${id}`
    return { is: 'accepted', notification: { id, type, subtype, environment, queue, statedAt: stated.signedDate } }
  } catch (error) {
    return refused(error)
  }
}

import type { Sender } from '../../domain/integrations/sender.ts'
import { objectIn } from '../destinations/classify-response.ts'
import { uuidOf } from '../destinations/ids.ts'
import { vendorUrl } from '../destinations/vendor-request.ts'
import { requestWithToken, serviceAccount } from '../outgoing/google-token.ts'
import type { OutgoingResponse } from '../outgoing/outgoing.ts'
import { classifyRefusal, type Message, type Pushed, type PushScope } from './message.ts'

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging'
const LIMIT_MS = 25_000

/** The tag identifies the notification on the device: a device that receives it twice shows it once. */
function bodyOf({ key, title, body, imageUrl, deepLink, data }: Message, token: string): string {
  const tag = uuidOf(key)
  return JSON.stringify({
    message: {
      token,
      notification: { ...(title && { title }), body, ...(imageUrl && { image: imageUrl }) },
      data: { ...(deepLink && { deep_link: deepLink }), ...data },
      android: { notification: { tag } },
      apns: {
        headers: { 'apns-collapse-id': tag },
        // iOS shows a picture only where the app may change the notification before it is shown.
        ...(imageUrl && { payload: { aps: { 'mutable-content': 1 } }, fcm_options: { image: imageUrl } }),
      },
    },
  })
}

type Fault = { status?: unknown; message?: unknown; details?: { '@type'?: unknown; errorCode?: unknown }[] }

function faultIn(response: OutgoingResponse): { code: string; reason: string | null } {
  const fault = (response.is === 'response' ? (objectIn(response.text).error ?? {}) : {}) as Fault
  const details = Array.isArray(fault.details) ? fault.details : []
  const detail = details.find(one => String(one?.['@type']).endsWith('/google.firebase.fcm.v1.FcmError'))
  const code = String(detail?.errorCode ?? fault.status ?? '')
  return { code, reason: typeof fault.message === 'string' ? `${code}: ${fault.message}` : code || null }
}

function classifyPush(response: OutgoingResponse): Pushed {
  if (response.is === 'response' && response.status === 200) {
    const { name } = objectIn(response.text)
    return { is: 'accepted', id: typeof name === 'string' ? name : null }
  }
  const { code, reason } = faultIn(response)
  if (code === 'UNREGISTERED') return { is: 'no_device' }
  // The token belongs to another project: a new key does not correct that.
  if (code === 'SENDER_ID_MISMATCH') return { is: 'rejected', error: reason ?? code }
  return classifyRefusal(response, reason)
}

/** A key without a token may be corrected, whatever the status. */
function classifyTokenRefusal(response: OutgoingResponse): Pushed {
  const refusal = classifyRefusal(response, 'no token')
  return refusal.is === 'rejected' ? { is: 'failed', error: refusal.error, retryAfterSeconds: null } : refusal
}

/** Firebase Cloud Messaging, HTTP v1, to the token in the user's property. */
export async function sendByFirebase(message: Message, { settings }: Sender, { outgoing, tokens, signal }: PushScope): Promise<Pushed> {
  const account = serviceAccount(settings.service_account_key)
  if (!account?.projectId) return { is: 'not_configured', error: 'no usable service_account_key' }
  const property = String(settings.fcm_token_property ?? 'fcm_token')
  const device = Object.hasOwn(message.user.properties, property) ? message.user.properties[property] : undefined
  if (!device) return { is: 'no_device' }
  const path = `/v1/projects/${encodeURIComponent(account.projectId)}/messages:send`
  const url = vendorUrl(settings, 'https://fcm.googleapis.com', path)
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  const { hasToken, response } = await requestWithToken(
    { outgoing, tokens, account, scope: SCOPE, signal },
    { method: 'POST', url, headers, body: bodyOf(message, device), limitMs: LIMIT_MS },
  )
  return hasToken ? classifyPush(response) : classifyTokenRefusal(response)
}

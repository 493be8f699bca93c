import type { Sender } from '../../domain/integrations/sender.ts'
import { objectIn } from '../destinations/classify-response.ts'
import { uuidOf } from '../destinations/ids.ts'
import { serviceAccount } from '../outgoing/google-token.ts'
import type { Answer } from '../outgoing/request.ts'
import { type Message, type Pushed, type PushScope, refusalBy } from './message.ts'

const GOOGLE = 'https://fcm.googleapis.com'
const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging'
const LIMIT_MS = 25_000

/** `key` names the notification on the device: one that came twice is shown once. */
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

function faultIn(answer: Answer): { code: string; said: string | null } {
  const fault = (answer.is === 'answer' ? (objectIn(answer.text).error ?? {}) : {}) as Fault
  const details = Array.isArray(fault.details) ? fault.details : []
  const detail = details.find(one => String(one?.['@type']).endsWith('/google.firebase.fcm.v1.FcmError'))
  const code = String(detail?.errorCode ?? fault.status ?? '')
  return { code, said: typeof fault.message === 'string' ? `${code}: ${fault.message}` : code || null }
}

function judged(answer: Answer): Pushed {
  if (answer.is === 'answer' && answer.status === 200) {
    const { name } = objectIn(answer.text)
    return { is: 'taken', id: typeof name === 'string' ? name : null }
  }
  const { code, said } = faultIn(answer)
  if (code === 'UNREGISTERED') return { is: 'no_device' }
  // The token belongs to another project: no new key mends that.
  if (code === 'SENDER_ID_MISMATCH') return { is: 'rejected', error: said ?? code }
  return refusalBy(answer, said)
}

/** Firebase Cloud Messaging, HTTP v1, to the token in the user's property. */
export async function sendByFirebase(message: Message, { settings }: Sender, { outgoing, tokens, signal }: PushScope): Promise<Pushed> {
  const { fcm_token_property, base_url, service_account_key } = settings
  const account = serviceAccount(service_account_key)
  if (!account?.projectId) return { is: 'not_configured', error: 'no usable service_account_key' }
  const property = String(fcm_token_property ?? 'fcm_token')
  const device = Object.hasOwn(message.user.properties, property) ? message.user.properties[property] : undefined
  if (!device) return { is: 'no_device' }
  const base = typeof base_url === 'string' && base_url !== '' ? base_url.replace(/\/+$/, '') : GOOGLE
  const url = `${base}/v1/projects/${encodeURIComponent(account.projectId)}/messages:send`
  for (let isFirst = true; ; isFirst = false) {
    const got = await tokens.tokenFor(account, SCOPE, signal)
    // The key may be mended, whatever the status.
    if (got.is === 'none') {
      const refusal = refusalBy(got.answer, 'no token')
      return refusal.is === 'rejected' ? { is: 'failed', error: refusal.error, retryAfterSeconds: null } : refusal
    }
    const headers = { authorization: `Bearer ${got.token}`, 'content-type': 'application/json', accept: 'application/json' }
    const answer = await outgoing.request({ method: 'POST', url, headers, body: bodyOf(message, device), signal, limitMs: LIMIT_MS })
    if (!(answer.is === 'answer' && answer.status === 401)) return judged(answer)
    tokens.forget(got.token)
    if (!isFirst) return judged(answer)
  }
}

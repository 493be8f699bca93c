import type { Sender } from '../../domain/integrations/sender.ts'
import { objectIn } from '../destinations/classify-response.ts'
import { uuidOf } from '../destinations/ids.ts'
import { vendorUrl } from '../destinations/vendor-request.ts'
import type { OutgoingResponse } from '../outgoing/outgoing.ts'
import { classifyRefusal, type Message, type Pushed, type PushScope } from './message.ts'

const LIMIT_MS = 25_000

const bodyOf = (appId: string, { key, user, title, body, imageUrl, deepLink, data }: Message) =>
  JSON.stringify({
    app_id: appId,
    target_channel: 'push',
    include_aliases: { external_id: [user.id] },
    // OneSignal sends one notification for all requests with the same key within 30 days.
    idempotency_key: uuidOf(key),
    ...(title && { headings: { en: title } }),
    contents: { en: body },
    ...(imageUrl && { big_picture: imageUrl, ios_attachments: { image: imageUrl } }),
    ...(deepLink && { app_url: deepLink }),
    ...(Object.keys(data).length > 0 && { data }),
  })

/** In the body of a 200 or a 400: there is no user of that id, or the user has no subscription to pushes. */
const NO_DEVICE = /not subscribed|no subscribers|invalid_aliases|invalid_player_ids|invalid_external_user_ids/i

function classifyPush(response: OutgoingResponse): Pushed {
  if (response.is === 'error') return classifyRefusal(response, null)
  const { id, errors } = objectIn(response.text)
  const reason = errors === undefined ? null : JSON.stringify(errors)
  const hasId = typeof id === 'string' && id !== ''
  const isSuccess = response.status >= 200 && response.status < 300
  if (isSuccess && hasId) return { is: 'accepted', id }
  if (response.status <= 400 && reason && NO_DEVICE.test(reason)) return { is: 'no_device' }
  return isSuccess ? { is: 'rejected', error: reason ?? 'no notification was made' } : classifyRefusal(response, reason)
}

/** Create Message, to the devices that have logged in with the user's id as external id. */
export async function sendByOneSignal(message: Message, { settings }: Sender, { outgoing, signal }: PushScope): Promise<Pushed> {
  const { app_id, rest_api_key } = settings
  const url = vendorUrl(settings, 'https://api.onesignal.com', '/notifications', { c: 'push' })
  const headers = { authorization: `Key ${rest_api_key}`, 'content-type': 'application/json', accept: 'application/json' }
  const body = bodyOf(String(app_id), message)
  return classifyPush(await outgoing.request({ method: 'POST', url, headers, body, signal, limitMs: LIMIT_MS }))
}

import type { Sender } from '../../domain/integrations/sender.ts'
import { objectIn } from '../destinations/classify-response.ts'
import { uuidOf } from '../destinations/ids.ts'
import type { Answer } from '../outgoing/request.ts'
import { type Message, type Pushed, type PushScope, refusalBy } from './message.ts'

const ONESIGNAL = 'https://api.onesignal.com'
const LIMIT_MS = 25_000

const bodyOf = (appId: string, { key, user, title, body, imageUrl, deepLink, data }: Message) =>
  JSON.stringify({
    app_id: appId,
    target_channel: 'push',
    include_aliases: { external_id: [user.id] },
    // OneSignal sends what came twice under one key within 30 days once.
    idempotency_key: uuidOf(key),
    ...(title && { headings: { en: title } }),
    contents: { en: body },
    ...(imageUrl && { big_picture: imageUrl, ios_attachments: { image: imageUrl } }),
    ...(deepLink && { app_url: deepLink }),
    ...(Object.keys(data).length > 0 && { data }),
  })

/** In the body of a 200 or a 400: nobody of that id, or nobody who wants pushes. */
const NOBODY = /not subscribed|no subscribers|invalid_aliases|invalid_player_ids|invalid_external_user_ids/i

function judged(answer: Answer): Pushed {
  if (answer.is === 'error') return refusalBy(answer, null)
  const { id, errors } = objectIn(answer.text)
  const said = errors === undefined ? null : JSON.stringify(errors)
  const hasId = typeof id === 'string' && id !== ''
  if (answer.status >= 200 && answer.status < 300 && hasId) return { is: 'taken', id }
  if (answer.status <= 400 && said && NOBODY.test(said)) return { is: 'no_device' }
  if (answer.status >= 200 && answer.status < 300) return { is: 'rejected', error: said ?? 'no notification was made' }
  return refusalBy(answer, said)
}

/** Create Message, to whoever has logged in with the user's id as external id. */
export async function sendByOneSignal(message: Message, { settings }: Sender, { outgoing, signal }: PushScope): Promise<Pushed> {
  const { app_id, rest_api_key, base_url } = settings
  const base = typeof base_url === 'string' && base_url !== '' ? base_url.replace(/\/+$/, '') : ONESIGNAL
  const headers = { authorization: `Key ${rest_api_key}`, 'content-type': 'application/json', accept: 'application/json' }
  const body = bodyOf(String(app_id), message)
  return judged(await outgoing.request({ method: 'POST', url: `${base}/notifications?c=push`, headers, body, signal, limitMs: LIMIT_MS }))
}

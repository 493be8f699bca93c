import { classified, reject, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { facts, isoTime } from './facts.ts'
import { fitted } from './fitted.ts'
import { personId, uuidOf } from './ids.ts'
import { postJson, text, vendorUrl } from './post.ts'

/** OneSignal cuts nothing: what is longer is refused. */
const MAX_NAME = 128
const MAX_BYTES = 2000

/**
 * Create Custom Events. `external_id` is the login, else this service's user id: what the app passes to `OneSignal.login`. A user
 * that OneSignal does not know is refused in the body of a 202. `idempotency_key` is made of the delivery's id.
 */
export const onesignal: EventDestination = {
  slug: 'onesignal',
  async send(occurrence, scope) {
    const external_id = personId(occurrence)
    if (!external_id) return unsendable('no_user')
    const event = {
      name: occurrence.outgoing_name.slice(0, MAX_NAME).toWellFormed(),
      external_id,
      timestamp: isoTime(occurrence.happened_at),
      idempotency_key: uuidOf(scope.deliveryId),
      properties: fitted(facts(occurrence, scope.deliveryId), { bytes: MAX_BYTES }),
    }
    const app = encodeURIComponent(text(scope.settings, 'app_id'))
    const url = vendorUrl(scope.settings, 'https://api.onesignal.com', `/apps/${app}/custom_events`)
    const headers = { authorization: `Key ${text(scope.settings, 'rest_api_key')}` }
    return classified(await postJson(scope, { url, headers }, { events: [event] }), (status, { errors }) =>
      status < 300 && Array.isArray(errors) && errors.length > 0 ? reject(errors) : null,
    )
  },
}

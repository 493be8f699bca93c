import { classifyResponse, reject, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { eventFacts, isoTime } from './event-facts.ts'
import { personId, uuidOf } from './ids.ts'
import { fitToLimits } from './vendor-limits.ts'
import { postJson, textSetting, vendorUrl } from './vendor-request.ts'

/** OneSignal refuses longer values instead of cutting them. */
const MAX_NAME = 128
const MAX_BYTES = 2000

/**
 * Create Custom Events. `external_id` is the login, else this service's user id: the value that the app passes to `OneSignal.login`.
 * OneSignal refuses an unknown user in the body of a 202. `idempotency_key` is derived from the delivery's id.
 */
export const onesignalDestination: EventDestination = {
  slug: 'onesignal',
  async send(occurrence, scope) {
    const external_id = personId(occurrence)
    if (!external_id) return unsendable('no_user')
    const event = {
      name: occurrence.outgoing_name.slice(0, MAX_NAME).toWellFormed(),
      external_id,
      timestamp: isoTime(occurrence.happened_at),
      idempotency_key: uuidOf(scope.deliveryId),
      properties: fitToLimits(eventFacts(occurrence, scope.deliveryId), { bytes: MAX_BYTES }),
    }
    const app = encodeURIComponent(textSetting(scope.settings, 'app_id'))
    const url = vendorUrl(scope.settings, 'https://api.onesignal.com', `/apps/${app}/custom_events`)
    const headers = { authorization: `Key ${textSetting(scope.settings, 'rest_api_key')}` }
    return classifyResponse(await postJson(scope, { url, headers }, { events: [event] }), (status, { errors }) =>
      status < 300 && Array.isArray(errors) && errors.length > 0 ? reject(errors) : null,
    )
  },
}

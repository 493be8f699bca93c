import { classifyResponse, delivered, fieldText, retry, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { asText, eventFacts, revenueOf } from './event-facts.ts'
import { deviceIds, userProperty } from './ids.ts'
import { postForm, textSetting, vendorUrl } from './vendor-request.ts'

const EVENT_TOKEN = /^[a-z0-9]{6}$/i

/**
 * Server-to-server events. The outgoing name is the Adjust event token, so only mapped events can be sent. Adjust finds users by
 * `_q_adjust_adid` or the device's ids. `deduplication_id` is the delivery's id: Adjust documents the key for its SDKs and does not
 * guarantee it for this API. Only revenue above zero is sent, because Adjust refuses negative amounts.
 */
export const adjustDestination: EventDestination = {
  slug: 'adjust',
  async send(occurrence, scope) {
    if (!EVENT_TOKEN.test(occurrence.outgoing_name) && !occurrence.test) return unsendable('event_not_mapped')
    const { idfa, gaid, idfv, androidId } = deviceIds(occurrence)
    const adid = userProperty(occurrence, '_q_adjust_adid')
    if (![adid, idfa, gaid, idfv, androidId].some(Boolean)) return unsendable('no_device_id')
    const revenue = revenueOf(occurrence)
    const hasRevenue = revenue !== null && revenue.amount > 0
    const parameters = JSON.stringify(asText(eventFacts(occurrence, scope.deliveryId), 255))
    const url = vendorUrl(scope.settings, 'https://s2s.adjust.com', '/event')
    const token = textSetting(scope.settings, 's2s_token')
    const response = await postForm(
      scope,
      { url, ...(token && { headers: { authorization: `Bearer ${token}` } }) },
      {
        s2s: 1,
        app_token: textSetting(scope.settings, 'app_token'),
        event_token: occurrence.outgoing_name,
        environment: occurrence.environment,
        created_at_unix: occurrence.happened_at,
        deduplication_id: scope.deliveryId,
        adid,
        idfa,
        gps_adid: gaid,
        idfv,
        android_id: androidId,
        ip_address: occurrence.device.ip,
        revenue: hasRevenue ? revenue.amount : null,
        currency: hasRevenue ? revenue.currency : null,
        callback_params: parameters,
        partner_params: parameters,
      },
    )
    return classifyResponse(response, (status, { error }) => {
      const why = fieldText(error)
      if (status === 400 && /earlier unique event/i.test(why)) return delivered
      return (status === 400 || status === 404) && /app token/i.test(why) ? retry(why) : null
    })
  },
}

import { classifyResponse, fieldText, retry } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { eventFacts, revenueOf, withoutEmpty } from './event-facts.ts'
import { deviceIds, loginId, ownProperties } from './ids.ts'
import { postJson, textSetting, vendorUrl } from './vendor-request.ts'

/**
 * HTTP V2 API. `user_id` is the login, `device_id` the device, else this service's user id, so that an anonymous user stays one user.
 * An event without user gets its own id as device. By `insert_id` Amplitude drops repeats for seven days.
 */
export const amplitudeDestination: EventDestination = {
  slug: 'amplitude',
  async send(occurrence, scope) {
    const { os, idfa, gaid } = deviceIds(occurrence)
    const { device, app } = occurrence
    const revenue = revenueOf(occurrence)
    const event = {
      ...withoutEmpty({
        user_id: loginId(occurrence),
        device_id: device.id || occurrence.user?.id || occurrence.id,
        event_type: occurrence.outgoing_name,
        time: occurrence.happened_at * 1000,
        insert_id: scope.deliveryId,
        app_version: app.version,
        platform: occurrence.platform,
        os_name: os,
        os_version: device.os_version,
        device_model: device.model,
        country: device.country,
        language: device.locale,
        ip: device.ip,
        idfa,
        adid: gaid,
        price: revenue?.amount,
        quantity: revenue && 1,
        revenue: revenue?.amount,
        currency: revenue?.currency,
        productId: revenue && occurrence.product_id,
        revenueType: revenue && occurrence.name,
      }),
      event_properties: eventFacts(occurrence, scope.deliveryId),
      user_properties: ownProperties(occurrence),
    }
    const url = vendorUrl(scope.settings, 'https://api2.amplitude.com', '/2/httpapi')
    const body = { api_key: textSetting(scope.settings, 'api_key'), events: [event], options: { min_id_length: 1 } }
    return classifyResponse(await postJson(scope, { url }, body), (status, { error }) =>
      // Amplitude answers a wrong key with 400, like a wrong event, but a key will be corrected.
      status === 400 && /api key/i.test(fieldText(error)) ? retry(error) : null,
    )
  },
}

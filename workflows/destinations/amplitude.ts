import { classified, retry, said } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { facts, known, revenueOf } from './facts.ts'
import { deviceIds, loginId, ownProperties } from './ids.ts'
import { postJson, text, vendorUrl } from './post.ts'

/**
 * HTTP V2 API. `user_id` is the login, `device_id` the device, else this service's user id, so that an anonymous user stays one user;
 * an event of nobody is counted under its own id. `insert_id` drops repeats for seven days.
 */
export const amplitude: EventDestination = {
  slug: 'amplitude',
  async send(occurrence, scope) {
    const { os, idfa, gaid } = deviceIds(occurrence)
    const { device, app } = occurrence
    const revenue = revenueOf(occurrence)
    const event = {
      ...known({
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
      event_properties: facts(occurrence, scope.deliveryId),
      user_properties: ownProperties(occurrence),
    }
    const url = vendorUrl(scope.settings, 'https://api2.amplitude.com', '/2/httpapi')
    const body = { api_key: text(scope.settings, 'api_key'), events: [event], options: { min_id_length: 1 } }
    return classified(await postJson(scope, { url }, body), (status, { error }) =>
      // A wrong key is told as 400 like a wrong event, but will be mended.
      status === 400 && /api key/i.test(said(error)) ? retry(error) : null,
    )
  },
}

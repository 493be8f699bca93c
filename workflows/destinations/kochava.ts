import { classifyResponse, fieldText, reject, retry, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { eventFacts, revenueOf, withoutEmpty } from './event-facts.ts'
import { deviceIds, personId, userProperty } from './ids.ts'
import { postJson, textSetting, vendorUrl } from './vendor-request.ts'

/**
 * Post-install events. `kochava_device_id` is the property `_q_kochava_device_id`; else one of the device's ids is required. `user_id` is
 * the login, else this service's user id. There is no key against repeats: the delivery's id is in the event's data. For free accounts
 * Kochava reports success and drops the event.
 */
export const kochavaDestination: EventDestination = {
  slug: 'kochava',
  async send(occurrence, scope) {
    const { os, idfa, idfv, gaid, androidId } = deviceIds(occurrence)
    const kochavaId = userProperty(occurrence, '_q_kochava_device_id')
    const devices = withoutEmpty({ idfa, idfv, adid: gaid, android_id: androidId })
    if (!kochavaId && Object.keys(devices).length === 0) return unsendable('no_device_id')
    const revenue = revenueOf(occurrence)
    const { device, app } = occurrence
    const body = {
      action: 'event',
      kochava_app_id: textSetting(scope.settings, 'app_guid'),
      kochava_device_id: kochavaId,
      data: {
        usertime: String(occurrence.happened_at),
        ...withoutEmpty({ app_version: app.version, currency: revenue?.currency }),
        // Both fields are required and may be empty.
        device_ver: device.model && os ? [device.model, os, device.os_version ?? ''].join('-') : '',
        device_ua: '',
        origination_ip: device.ip ?? '',
        device_ids: devices,
        event_name: occurrence.outgoing_name,
        event_data: {
          ...eventFacts(occurrence, scope.deliveryId),
          ...withoutEmpty({ user_id: personId(occurrence), price: revenue?.amount, name: occurrence.product_id }),
        },
      },
    }
    const url = vendorUrl(scope.settings, 'https://control.kochava.com', '/track/json')
    return classifyResponse(await postJson(scope, { url }, body), (status, { success, error }) => {
      if (status >= 300 || success === undefined || fieldText(success) === '1') return null
      return /app_?(id|guid)|account|auth|limit/i.test(fieldText(error)) ? retry(error) : reject(error)
    })
  },
}

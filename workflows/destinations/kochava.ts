import { classified, reject, retry, said, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { facts, known, revenueOf } from './facts.ts'
import { deviceIds, personId, property } from './ids.ts'
import { postJson, text, vendorUrl } from './post.ts'

/**
 * Post-install events. `kochava_device_id` is the property `_q_kochava_device_id`; else one of the device's ids is needed. The login,
 * else this service's user id, goes along as `user_id`. No key against repeats: the delivery's id is in the event's data. On free
 * accounts Kochava says success and forgets the event.
 */
export const kochava: EventDestination = {
  slug: 'kochava',
  async send(occurrence, scope) {
    const { os, idfa, idfv, gaid, androidId } = deviceIds(occurrence)
    const kochavaId = property(occurrence, '_q_kochava_device_id')
    const devices = known({ idfa, idfv, adid: gaid, android_id: androidId })
    if (!kochavaId && Object.keys(devices).length === 0) return unsendable('no_device_id')
    const revenue = revenueOf(occurrence)
    const { device, app } = occurrence
    const body = {
      action: 'event',
      kochava_app_id: text(scope.settings, 'app_guid'),
      kochava_device_id: kochavaId,
      data: {
        usertime: String(occurrence.happened_at),
        ...known({ app_version: app.version, currency: revenue?.currency }),
        // Both must be there, and may be empty.
        device_ver: device.model && os ? [device.model, os, device.os_version ?? ''].join('-') : '',
        device_ua: '',
        origination_ip: device.ip ?? '',
        device_ids: devices,
        event_name: occurrence.outgoing_name,
        event_data: {
          ...facts(occurrence, scope.deliveryId),
          ...known({ user_id: personId(occurrence), price: revenue?.amount, name: occurrence.product_id }),
        },
      },
    }
    const url = vendorUrl(scope.settings, 'https://control.kochava.com', '/track/json')
    return classified(await postJson(scope, { url }, body), (status, { success, error }) => {
      if (status >= 300 || success === undefined || said(success) === '1') return null
      return /app_?(id|guid)|account|auth|limit/i.test(said(error)) ? retry(error) : reject(error)
    })
  },
}

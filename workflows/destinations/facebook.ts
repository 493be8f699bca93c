import { classifyResponse, reject, retry, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { eventFacts, revenueOf } from './event-facts.ts'
import { deviceIds, personId, userProperty } from './ids.ts'
import { fitToLimits } from './vendor-limits.ts'
import { postJson, textSetting, vendorUrl } from './vendor-request.ts'

/** An event may have 25 parameters, including those that begin with an underscore. */
const LIMITS = { most: 20, characters: 100, name: metaName }

/** OAuth: 102, 190; missing permission: 10, 200..299; limits: 4, 17, 32, 341, 613; temporary faults: 1, 2. */
const isTemporary = (code: number) => [1, 2, 4, 10, 17, 32, 102, 190, 341, 613].includes(code) || (code >= 200 && code < 300)

/**
 * App Events (`/{app_id}/activities`). `advertiser_id` is the device's advertising id, `anon_id` the property `_q_fb_attribution`: one
 * is required. `app_user_id` is the login, else this service's user id. There is no key against repeats: the delivery's id is a parameter.
 */
export const facebookDestination: EventDestination = {
  slug: 'facebook',
  async send(occurrence, scope) {
    const { os, advertiser } = deviceIds(occurrence)
    const anonymous = userProperty(occurrence, '_q_fb_attribution')
    if (!advertiser && !anonymous) return unsendable('no_device_id')
    const revenue = revenueOf(occurrence)
    const { device, app } = occurrence
    const person = personId(occurrence)
    const body = {
      event: 'CUSTOM_APP_EVENTS',
      access_token: textSetting(scope.settings, 'access_token'),
      ...(advertiser && { advertiser_id: advertiser }),
      ...(anonymous && { anon_id: anonymous }),
      ...(person && { app_user_id: person }),
      advertiser_tracking_enabled: advertiser ? 1 : 0,
      application_tracking_enabled: 1,
      // Sixteen values in a fixed order; an unknown value is empty.
      ...(os && {
        extinfo: [
          ...[os === 'iOS' ? 'i2' : 'a2', app.id ?? '', app.version ?? '', app.version ?? '', device.os_version ?? ''],
          ...[device.model ?? '', device.locale ?? '', '', '', '', '', '', '', '', '', ''],
        ],
      }),
      custom_events: [
        {
          ...fitToLimits(eventFacts(occurrence, scope.deliveryId), LIMITS),
          _eventName: metaName(occurrence.outgoing_name),
          _logTime: occurrence.happened_at,
          ...(revenue && { _valueToSum: revenue.amount, fb_currency: revenue.currency }),
          ...(occurrence.product_id && { fb_content_id: occurrence.product_id }),
        },
      ],
    }
    const url = vendorUrl(
      scope.settings,
      'https://graph.facebook.com',
      `/${encodeURIComponent(textSetting(scope.settings, 'app_id'))}/activities`,
    )
    return classifyResponse(await postJson(scope, { url }, body), (status, { error, success }) => {
      if (status < 300) return success === false ? reject('not accepted') : null
      const { code, message, is_transient } = (error ?? {}) as { code?: number; message?: string; is_transient?: boolean }
      return status < 500 && code !== undefined && (is_transient || isTemporary(code)) ? retry(message) : null
    })
  },
}

/** `^[0-9a-zA-Z_][0-9a-zA-Z _-]{0,39}$` */
function metaName(name: string): string {
  return name
    .replaceAll(/[^0-9a-zA-Z _-]/g, '_')
    .replace(/^[ -]/, '_')
    .slice(0, 40)
}

import { classifyResponse, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { eventFacts, withoutEmpty } from './event-facts.ts'
import { deviceIds, personId, userProperty } from './ids.ts'
import { postBody, textSetting, vendorUrl } from './vendor-request.ts'

/**
 * Post API, one event as CSV in the body (long properties would not fit into a query). The user is the property
 * `_q_appmetrica_device_id`, else `_q_appmetrica_user_profile_id`, else the login, else this service's user id; AppMetrica accepts either
 * a device or a profile. Revenue is in `event_json`. There is no key against repeats: the delivery's id is in `event_json`.
 */
export const appmetricaDestination: EventDestination = {
  slug: 'appmetrica',
  async send(occurrence, scope) {
    const installation = userProperty(occurrence, '_q_appmetrica_device_id')
    const person = installation ? null : (userProperty(occurrence, '_q_appmetrica_user_profile_id') ?? personId(occurrence))
    if (!person && !installation) return unsendable('no_user')
    const { os, idfa, idfv, gaid } = deviceIds(occurrence)
    const fields = withoutEmpty({
      application_id: textSetting(scope.settings, 'application_id'),
      profile_id: person,
      appmetrica_device_id: installation,
      event_name: occurrence.outgoing_name,
      event_timestamp: occurrence.happened_at,
      event_json: JSON.stringify(eventFacts(occurrence, scope.deliveryId)),
      // The event did not happen in the app: a foreground session would count as usage.
      session_type: 'background',
      ios_ifa: idfa,
      ios_ifv: idfv,
      google_aid: gaid,
      os_name: os?.toLowerCase(),
      os_version: occurrence.device.os_version,
      device_model: occurrence.device.model,
      device_locale: occurrence.device.locale,
      app_version_name: occurrence.app.version,
      app_package_name: occurrence.app.id,
    })
    const key = textSetting(scope.settings, 'post_api_key')
    const url = vendorUrl(scope.settings, 'https://api.appmetrica.yandex.com', '/logs/v1/import/events.csv', { post_api_key: key })
    const csv = `${Object.keys(fields).join(',')}\n${Object.values(fields).map(quoted).join(',')}\n`
    return classifyResponse(await postBody(scope, { url }, 'text/csv; charset=UTF-8', csv))
  },
}

const quoted = (value: unknown) => `"${String(value).replaceAll('"', '""')}"`

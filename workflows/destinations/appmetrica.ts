import { classified, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { facts, known } from './facts.ts'
import { deviceIds, personId, property } from './ids.ts'
import { post, text, vendorUrl } from './post.ts'

/**
 * Post API, one event as CSV in the body (as a query, long properties would not fit). The user is the property
 * `_q_appmetrica_device_id`, else `_q_appmetrica_user_profile_id`, else the login, else this service's user id; AppMetrica takes one of
 * device and profile only. Revenue stands in `event_json`. No key against repeats: the delivery's id is in `event_json`.
 */
export const appmetrica: EventDestination = {
  slug: 'appmetrica',
  async send(occurrence, scope) {
    const installation = property(occurrence, '_q_appmetrica_device_id')
    const person = installation ? null : (property(occurrence, '_q_appmetrica_user_profile_id') ?? personId(occurrence))
    if (!person && !installation) return unsendable('no_user')
    const { os, idfa, idfv, gaid } = deviceIds(occurrence)
    const fields = known({
      application_id: text(scope.settings, 'application_id'),
      profile_id: person,
      appmetrica_device_id: installation,
      event_name: occurrence.outgoing_name,
      event_timestamp: occurrence.happened_at,
      event_json: JSON.stringify(facts(occurrence, scope.deliveryId)),
      // It did not happen in the app: a foreground session would count as usage.
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
    const key = text(scope.settings, 'post_api_key')
    const url = vendorUrl(scope.settings, 'https://api.appmetrica.yandex.com', '/logs/v1/import/events.csv', { post_api_key: key })
    const csv = `${Object.keys(fields).join(',')}\n${Object.values(fields).map(quoted).join(',')}\n`
    return classified(await post(scope, { url }, 'text/csv; charset=UTF-8', csv))
  },
}

const quoted = (value: unknown) => `"${String(value).replaceAll('"', '""')}"`

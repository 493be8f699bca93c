import type { EventDestination } from './destination.ts'
import { facts } from './facts.ts'
import { deviceIds, personId, property } from './ids.ts'
import { judged, unsendable } from './judge.ts'
import { postForm, text, vendorUrl } from './post.ts'

/**
 * Post API, one event in the query. `profile_id` is the property `_q_appmetrica_user_profile_id`, `appmetrica_device_id` the property
 * `_q_appmetrica_device_id`; with neither, `profile_id` is the login, else this service's user id. Revenue stands in `event_json`. No
 * key against repeats.
 */
export const appmetrica: EventDestination = {
  slug: 'appmetrica',
  async send(occurrence, scope) {
    const profile = property(occurrence, '_q_appmetrica_user_profile_id')
    const installation = property(occurrence, '_q_appmetrica_device_id')
    const person = profile ?? (installation ? null : personId(occurrence))
    if (!person && !installation) return unsendable('no_user')
    const { os, idfa, idfv, gaid } = deviceIds(occurrence)
    const url = vendorUrl(scope.settings, 'https://api.appmetrica.yandex.com', '/logs/v1/import/events', {
      post_api_key: text(scope.settings, 'post_api_key'),
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
    })
    return judged(await postForm(scope, { url }, {}))
  },
}

import { classifyResponse, retry } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { eventFacts, isoTime, withoutEmpty } from './event-facts.ts'
import { deviceIds, ownProperties, personId, uuidOf } from './ids.ts'
import { postJson, textSetting, vendorUrl } from './vendor-request.ts'

/**
 * Capture API. `distinct_id` is the login, else this service's user id; an event without user gets its own id and no person profile.
 * PostHog drops repeats by `uuid` (derived from the delivery's id) together with event, time and distinct id.
 */
export const posthogDestination: EventDestination = {
  slug: 'posthog',
  async send(occurrence, scope) {
    const { device, app } = occurrence
    const person = personId(occurrence)
    const body = {
      api_key: textSetting(scope.settings, 'project_api_key'),
      event: occurrence.outgoing_name,
      distinct_id: person ?? occurrence.id,
      timestamp: isoTime(occurrence.happened_at),
      uuid: uuidOf(scope.deliveryId),
      properties: {
        ...eventFacts(occurrence, scope.deliveryId),
        ...withoutEmpty({
          $lib: 'perennial',
          $ip: device.ip,
          // Otherwise PostHog would locate every user at this server.
          $geoip_disable: device.ip ? null : true,
          $process_person_profile: person ? null : false,
          $os: deviceIds(occurrence).os,
          $os_version: device.os_version,
          $device_model: device.model,
          $device_id: device.id,
          $app_version: app.version,
        }),
        ...(person && { $set: ownProperties(occurrence) }),
      },
    }
    const url = vendorUrl(scope.settings, 'https://us.i.posthog.com', '/i/v0/e/')
    return classifyResponse(await postJson(scope, { url }, body), (status, { quota_limited: limited }) =>
      status < 300 && Array.isArray(limited) && limited.length > 0 ? retry('quota_limited') : null,
    )
  },
}

import { classified, retry } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { facts, isoTime, known } from './facts.ts'
import { deviceIds, ownProperties, personId, uuidOf } from './ids.ts'
import { postJson, text, vendorUrl } from './post.ts'

/**
 * Capture API. `distinct_id` is the login, else this service's user id; an event of nobody gets its own id and no person. Repeats are
 * dropped by `uuid` (made of the delivery's id) together with event, time and distinct id.
 */
export const posthog: EventDestination = {
  slug: 'posthog',
  async send(occurrence, scope) {
    const { device, app } = occurrence
    const person = personId(occurrence)
    const body = {
      api_key: text(scope.settings, 'project_api_key'),
      event: occurrence.outgoing_name,
      distinct_id: person ?? occurrence.id,
      timestamp: isoTime(occurrence.happened_at),
      uuid: uuidOf(scope.deliveryId),
      properties: {
        ...facts(occurrence, scope.deliveryId),
        ...known({
          $lib: 'perennial',
          $ip: device.ip,
          // Otherwise every user would be placed where this server stands.
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
    return classified(await postJson(scope, { url }, body), (status, { quota_limited: limited }) =>
      status < 300 && Array.isArray(limited) && limited.length > 0 ? retry('quota_limited') : null,
    )
  },
}

import { classifyResponse, reject } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { eventFacts, withoutEmpty } from './event-facts.ts'
import { loginId, personId } from './ids.ts'
import { basicAuth, postJson, textSetting, vendorUrl } from './vendor-request.ts'

/**
 * `/import`, with the project token as user name. `/track` silently drops events older than five days, and a held or replayed delivery may
 * be older. `distinct_id` is the login, else this service's user id, "" without user; `$insert_id` may only have letters, digits and "-".
 */
export const mixpanelDestination: EventDestination = {
  slug: 'mixpanel',
  async send(occurrence, scope) {
    const token = textSetting(scope.settings, 'project_token')
    const { device, app } = occurrence
    const event = {
      event: occurrence.outgoing_name,
      properties: {
        ...eventFacts(occurrence, scope.deliveryId),
        ...withoutEmpty({
          token,
          time: occurrence.happened_at * 1000,
          $insert_id: scope.deliveryId.replaceAll('_', '-'),
          $user_id: loginId(occurrence),
          $device_id: device.id,
          ip: device.ip,
          mp_country_code: device.country,
          $model: device.model,
          $os_version: device.os_version,
          $app_version_string: app.version,
        }),
        distinct_id: personId(occurrence) ?? '',
      },
    }
    const url = vendorUrl(scope.settings, 'https://api.mixpanel.com', '/import', { strict: 1 })
    return classifyResponse(await postJson(scope, { url, headers: { authorization: basicAuth(token) } }, [event]), (status, body) =>
      // Some proxies answer 200 for a refused record.
      status < 300 && (body.status === 0 || (body.code === 200 && body.num_records_imported === 0)) ? reject(body.error) : null,
    )
  },
}

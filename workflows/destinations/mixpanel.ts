import { classified, reject } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { facts, known } from './facts.ts'
import { loginId, personId } from './ids.ts'
import { basicAuth, postJson, text, vendorUrl } from './post.ts'

/**
 * `/import`, with the project token as user name: `/track` silently drops what is older than five days, as a delivery that was held
 * or replayed may be. `distinct_id` is the login, else this service's user id, "" (nobody) without user; `$insert_id` may only have
 * letters, digits and "-".
 */
export const mixpanel: EventDestination = {
  slug: 'mixpanel',
  async send(occurrence, scope) {
    const token = text(scope.settings, 'project_token')
    const { device, app } = occurrence
    const event = {
      event: occurrence.outgoing_name,
      properties: {
        ...facts(occurrence, scope.deliveryId),
        ...known({
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
    return classified(await postJson(scope, { url, headers: { authorization: basicAuth(token) } }, [event]), (status, body) =>
      // Behind some proxies a refused record comes with 200.
      status < 300 && (body.status === 0 || (body.code === 200 && body.num_records_imported === 0)) ? reject(body.error) : null,
    )
  },
}

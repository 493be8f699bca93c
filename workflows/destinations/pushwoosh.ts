import { byStatus, classified, reject, said, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { facts, known } from './facts.ts'
import { deviceIds, personId, property } from './ids.ts'
import { postJson, text, vendorUrl } from './post.ts'

/**
 * `postEvent`. `hwid` is the property `_q_pushwoosh_hwid`, `userId` the property `_q_pushwoosh_user_id`, else the login, else this
 * service's user id. The event must have been created in Pushwoosh under the outgoing name. Errors come with 200 and a `status_code`.
 * No key against repeats: the delivery's id is an attribute.
 */
export const pushwoosh: EventDestination = {
  slug: 'pushwoosh',
  async send(occurrence, scope) {
    const hwid = property(occurrence, '_q_pushwoosh_hwid')
    const userId = property(occurrence, '_q_pushwoosh_user_id') ?? personId(occurrence)
    if (!hwid && !userId) return unsendable('no_user')
    const { os } = deviceIds(occurrence)
    const request = {
      ...known({ hwid, userId, device_type: os === 'iOS' ? 1 : os === 'Android' ? 3 : null }),
      application: text(scope.settings, 'application_code'),
      event: occurrence.outgoing_name,
      attributes: facts(occurrence, scope.deliveryId),
      timestampUTC: occurrence.happened_at,
    }
    const url = vendorUrl(scope.settings, 'https://api.pushwoosh.com', '/json/1.3/postEvent')
    const headers = { authorization: `Token ${text(scope.settings, 'api_token')}` }
    return classified(await postJson(scope, { url, headers }, { request }), (status, { status_code: code, status_message: message }) => {
      if (status >= 300 || typeof code !== 'number' || code === 200) return null
      // 210 is Pushwoosh's word for a wrong argument.
      return code < 300 ? reject(message) : { ...byStatus(code), error: said(message) || `status_${code}` }
    })
  },
}

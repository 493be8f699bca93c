import { byStatus, classifyResponse, fieldText, reject, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { eventFacts, withoutEmpty } from './event-facts.ts'
import { deviceIds, personId, userProperty } from './ids.ts'
import { postJson, textSetting, vendorUrl } from './vendor-request.ts'

/**
 * `postEvent`. `hwid` is the property `_q_pushwoosh_hwid`, `userId` the property `_q_pushwoosh_user_id`, else the login, else this
 * service's user id. The event must have been created in Pushwoosh under the outgoing name. Errors have status 200 and a `status_code`.
 * There is no key against repeats: the delivery's id is an attribute.
 */
export const pushwooshDestination: EventDestination = {
  slug: 'pushwoosh',
  async send(occurrence, scope) {
    const hwid = userProperty(occurrence, '_q_pushwoosh_hwid')
    const userId = userProperty(occurrence, '_q_pushwoosh_user_id') ?? personId(occurrence)
    if (!hwid && !userId) return unsendable('no_user')
    const { os } = deviceIds(occurrence)
    const request = {
      ...withoutEmpty({ hwid, userId, device_type: os === 'iOS' ? 1 : os === 'Android' ? 3 : null }),
      application: textSetting(scope.settings, 'application_code'),
      event: occurrence.outgoing_name,
      attributes: eventFacts(occurrence, scope.deliveryId),
      timestampUTC: occurrence.happened_at,
    }
    const url = vendorUrl(scope.settings, 'https://api.pushwoosh.com', '/json/1.3/postEvent')
    const headers = { authorization: `Token ${textSetting(scope.settings, 'api_token')}` }
    return classifyResponse(
      await postJson(scope, { url, headers }, { request }),
      (status, { status_code: code, status_message: message }) => {
        if (status >= 300 || typeof code !== 'number' || code === 200) return null
        // 210 is Pushwoosh's code for a wrong argument.
        return code < 300 ? reject(message) : { ...byStatus(code), error: fieldText(message) || `status_${code}` }
      },
    )
  },
}

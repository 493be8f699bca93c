import { classifyResponse, reject, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { eventFacts, type FactValue, revenueOf, withoutEmpty } from './event-facts.ts'
import { personId } from './ids.ts'
import { postJson, textSetting, vendorUrl } from './vendor-request.ts'

const MAX_NAME = 120
const MAX_VALUE = 512

/**
 * Upload Events. `identity` is the login, else this service's user id. Revenue is `Amount` and `Currency`; an event that is mapped to
 * CleverTap's own `Charged` has the delivery's id as `Charged ID`, by which CleverTap drops repeats. Other events have no such key.
 */
export const clevertapDestination: EventDestination = {
  slug: 'clevertap',
  async send(occurrence, scope) {
    const identity = personId(occurrence)
    if (!identity) return unsendable('no_user')
    const revenue = revenueOf(occurrence)
    const name = occurrence.outgoing_name.slice(0, MAX_NAME).toWellFormed()
    const event = {
      identity,
      type: 'event',
      ts: occurrence.happened_at,
      evtName: name,
      evtData: {
        ...short(eventFacts(occurrence, scope.deliveryId)),
        ...withoutEmpty({
          Amount: revenue?.amount,
          Currency: revenue?.currency,
          'Charged ID': name === 'Charged' ? scope.deliveryId : null,
        }),
      },
    }
    const region = textSetting(scope.settings, 'region')
    const host = /^[a-z0-9-]+$/.test(region) ? `https://${region}.api.clevertap.com` : 'https://api.clevertap.com'
    const url = vendorUrl(scope.settings, host, '/1/upload')
    const headers = {
      'x-clevertap-account-id': textSetting(scope.settings, 'account_id'),
      'x-clevertap-passcode': textSetting(scope.settings, 'passcode'),
    }
    return classifyResponse(await postJson(scope, { url, headers }, { d: [event] }), (status, { status: result, unprocessed, error }) => {
      if (status >= 300 || result === 'success' || result === undefined) return null
      return reject(Array.isArray(unprocessed) && unprocessed.length > 0 ? unprocessed[0] : error)
    })
  },
}

/** Values have at most 512 bytes. */
const short = (fields: Record<string, FactValue>) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' ? new TextDecoder().decode(Buffer.from(value).subarray(0, MAX_VALUE)).replace(/\ufffd+$/, '') : value,
    ]),
  )

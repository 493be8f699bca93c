import { classifyResponse, reject, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { eventFacts, type FactValue, isoTime, revenueOf, withoutEmpty } from './event-facts.ts'
import { personId } from './ids.ts'
import { fitToLimits } from './vendor-limits.ts'
import { postJson, textSetting, vendorUrl } from './vendor-request.ts'

/** Limit for an event's properties. */
const MAX_BYTES = 50_000
/** Names that Braze reserves in the properties of events and purchases. */
const RESERVED_NAMES = ['time', 'event_name', 'product_id', 'quantity', 'price', 'currency']

/**
 * `/users/track`: one event, and a purchase where there is value (negative for a refund). `external_id` is the login, else this
 * service's user id. Braze has no key against repeats; the delivery's id is a property.
 */
export const brazeDestination: EventDestination = {
  slug: 'braze',
  async send(occurrence, scope) {
    const external_id = personId(occurrence)
    if (!external_id) return unsendable('no_user')
    const revenue = revenueOf(occurrence)
    const all = fitToLimits(eventFacts(occurrence, scope.deliveryId), { bytes: MAX_BYTES })
    const about = { external_id, ...withoutEmpty({ app_id: textSetting(scope.settings, 'app_id') }), time: isoTime(occurrence.happened_at) }
    const body = {
      events: [{ ...about, name: occurrence.outgoing_name, properties: without(all, ['time', 'event_name']) }],
      ...(revenue && {
        purchases: [
          {
            ...about,
            product_id: occurrence.product_id ?? occurrence.outgoing_name,
            currency: revenue.currency,
            price: revenue.amount,
            quantity: 1,
            properties: without(all, RESERVED_NAMES),
          },
        ],
      }),
    }
    const endpoint = textSetting(scope.settings, 'rest_endpoint')
    const url = vendorUrl(scope.settings, /^https?:/.test(endpoint) ? endpoint : `https://${endpoint}`, '/users/track')
    const headers = { authorization: `Bearer ${textSetting(scope.settings, 'api_key')}` }
    return classifyResponse(await postJson(scope, { url, headers }, body), (status, { message, errors }) => {
      if (status >= 300) return null
      // With 201 and `errors` Braze has left out the record; "queued" (202) means that Braze accepts it during maintenance.
      if (Array.isArray(errors) && errors.length > 0) return reject(errors)
      return typeof message === 'string' && !['success', 'queued'].includes(message) ? reject(message) : null
    })
  },
}

const without = (fields: Record<string, FactValue>, names: string[]) =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))

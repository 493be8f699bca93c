import { classified, reject, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { facts, isoTime, known, revenueOf, type Value } from './facts.ts'
import { fitted } from './fitted.ts'
import { personId } from './ids.ts'
import { postJson, text, vendorUrl } from './post.ts'

/** Of an event's properties. */
const MAX_BYTES = 50_000
/** Names that Braze keeps to itself in the properties of events and purchases. */
const KEPT_NAMES = ['time', 'event_name', 'product_id', 'quantity', 'price', 'currency']

/**
 * `/users/track`: one event, and a purchase where there is value (negative for a refund). `external_id` is the login, else this
 * service's user id. Braze has no key against repeats; the delivery's id is a property.
 */
export const braze: EventDestination = {
  slug: 'braze',
  async send(occurrence, scope) {
    const external_id = personId(occurrence)
    if (!external_id) return unsendable('no_user')
    const revenue = revenueOf(occurrence)
    const all = fitted(facts(occurrence, scope.deliveryId), { bytes: MAX_BYTES })
    const about = { external_id, ...known({ app_id: text(scope.settings, 'app_id') }), time: isoTime(occurrence.happened_at) }
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
            properties: without(all, KEPT_NAMES),
          },
        ],
      }),
    }
    const endpoint = text(scope.settings, 'rest_endpoint')
    const url = vendorUrl(scope.settings, /^https?:/.test(endpoint) ? endpoint : `https://${endpoint}`, '/users/track')
    const headers = { authorization: `Bearer ${text(scope.settings, 'api_key')}` }
    return classified(await postJson(scope, { url, headers }, body), (status, { message, errors }) => {
      if (status >= 300) return null
      // With 201 and `errors` the record named there was left out; "queued" (202) is taken during maintenance.
      if (Array.isArray(errors) && errors.length > 0) return reject(errors)
      return typeof message === 'string' && !['success', 'queued'].includes(message) ? reject(message) : null
    })
  },
}

const without = (fields: Record<string, Value>, names: string[]) =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))

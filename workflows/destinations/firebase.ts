import { createHash } from 'node:crypto'
import { classifyResponse, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { eventFacts, type FactValue, revenueOf } from './event-facts.ts'
import { loginId, userProperty } from './ids.ts'
import { fitToLimits } from './vendor-limits.ts'
import { postJson, textSetting, vendorUrl } from './vendor-request.ts'

const MAX_NAME = 40
const LIMITS = { most: 25, characters: 100, name: analyticsName }
/** Google Analytics answers 204 to these names and drops the event: they belong to its own SDK. */
const RESERVED =
  /^(ad_(activeview|click|exposure|query|reward)|adunit_exposure|app_(background|clear_data|exception|remove|store_refund|store_subscription_(cancel|convert|renew)|update|upgrade)|dynamic_link_.*|error|first_(open|visit)_?.*|in_app_purchase|notification_.*|os_update|screen_view|session_start|user_engagement|(firebase|ga|google)_.*)$/

/**
 * Measurement Protocol of Google Analytics 4. `app_instance_id` is the property `_q_firebase_instance_id`, else derived from this
 * service's user id: Google then counts the event but joins it to no installation. `user_id` is the login. There is no key against repeats
 * (`delivery_id` is a parameter). Every response is 204, so a wrong secret is not visible. Google dates events older than 72 h to 72 h
 * ago.
 */
export const firebaseDestination: EventDestination = {
  slug: 'firebase',
  async send(occurrence, scope) {
    const instance = userProperty(occurrence, '_q_firebase_instance_id') ?? (occurrence.user && derivedInstance(occurrence.user.id))
    if (!instance) return unsendable('no_user')
    const revenue = revenueOf(occurrence)
    const all = { ...(revenue && { value: revenue.amount }), ...eventFacts(occurrence, scope.deliveryId) }
    const login = loginId(occurrence)
    const body = {
      app_instance_id: instance,
      ...(login && { user_id: login.slice(0, 256).toWellFormed() }),
      timestamp_micros: occurrence.happened_at * 1_000_000,
      events: [{ name: analyticsName(occurrence.outgoing_name), params: numbered(fitToLimits(all, LIMITS)) }],
    }
    const url = vendorUrl(scope.settings, 'https://www.google-analytics.com', '/mp/collect', {
      firebase_app_id: textSetting(scope.settings, 'firebase_app_id'),
      api_secret: textSetting(scope.settings, 'api_secret'),
    })
    return classifyResponse(await postJson(scope, { url }, body))
  },
}

const derivedInstance = (userId: string) => createHash('sha256').update(`firebase:${userId}`).digest('hex').slice(0, 32)

/** Letters, digits and "_", beginning with a letter; a reserved name gets the prefix "perennial_". */
export function analyticsName(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_]/g, '_').replace(/^(?=[^A-Za-z])/, 'e_')
  return (RESERVED.test(plain) ? `perennial_${plain}` : plain).slice(0, MAX_NAME)
}

/** Parameters are texts or numbers. */
const numbered = (fields: Record<string, FactValue>) =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, typeof value === 'boolean' ? Number(value) : value]))

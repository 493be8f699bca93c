import { createHash } from 'node:crypto'
import { classifyResponse, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { asText, eventFacts, isoTime } from './event-facts.ts'
import { userProperty } from './ids.ts'
import { basicAuth, postJson, textSetting, vendorUrl } from './vendor-request.ts'

const MAX_NAME = 30
/** All properties of an event together may have about 1,000 characters. */
const SENT_FACTS = ['delivery_id', 'product_id', 'revenue', 'currency', 'environment', 'platform', 'transaction_id', 'expires_at']

/**
 * Member events. The member is the e-mail address in the property `_q_email`; Mailchimp refuses addresses outside the audience (404).
 * There is no key against repeats: the delivery's id is a property. The data centre is the end of the API key (`…-us6`).
 */
export const mailchimpDestination: EventDestination = {
  slug: 'mailchimp',
  async send(occurrence, scope) {
    const email = userProperty(occurrence, '_q_email')
    if (!email) return unsendable('no_email')
    const key = textSetting(scope.settings, 'api_key')
    const all = eventFacts(occurrence, scope.deliveryId)
    const body = {
      name: occurrence.outgoing_name.slice(0, MAX_NAME).padEnd(2, '_').toWellFormed(),
      properties: asText(Object.fromEntries(SENT_FACTS.filter(name => name in all).map(name => [name, all[name]!])), 100),
      occurred_at: isoTime(occurrence.happened_at),
    }
    const dataCenter = /-([a-z]+\d+)$/.exec(key)?.[1] ?? 'us1'
    const member = createHash('md5').update(email.toLowerCase()).digest('hex')
    const list = encodeURIComponent(textSetting(scope.settings, 'audience_id'))
    const url = vendorUrl(scope.settings, `https://${dataCenter}.api.mailchimp.com`, `/3.0/lists/${list}/members/${member}/events`)
    return classifyResponse(await postJson(scope, { url, headers: { authorization: basicAuth('perennial', key) } }, body))
  },
}

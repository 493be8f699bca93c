import { classifyResponse, fieldText, retry, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { asText, eventFacts, revenueOf, withoutEmpty } from './event-facts.ts'
import { deviceIds, personId } from './ids.ts'
import { postJson, textSetting, vendorUrl } from './vendor-request.ts'

/** Names of Branch's own events: every other event is a custom event. */
const STANDARD = new Set(
  (
    'ADD_TO_CART ADD_TO_WISHLIST VIEW_CART INITIATE_PURCHASE ADD_PAYMENT_INFO CLICK_AD PURCHASE RESERVE SPEND_CREDITS VIEW_AD SEARCH ' +
    'VIEW_ITEM VIEW_ITEMS RATE SHARE COMPLETE_REGISTRATION COMPLETE_TUTORIAL ACHIEVE_LEVEL UNLOCK_ACHIEVEMENT INVITE LOGIN SUBSCRIBE ' +
    'START_TRIAL'
  ).split(' '),
)

/**
 * Events API v2. `developer_identity` is the login, else this service's user id; the device's ids are sent, too. Branch has no key against
 * repeats and dates each event when it arrives: the delivery's id and the event's time are custom data.
 */
export const branchDestination: EventDestination = {
  slug: 'branch',
  async send(occurrence, scope) {
    const { os, idfa, idfv, gaid, androidId } = deviceIds(occurrence)
    const person = personId(occurrence)
    if (![person, idfa, idfv, gaid, androidId].some(Boolean)) return unsendable('no_user')
    const revenue = revenueOf(occurrence)
    const { device, app, transaction } = occurrence
    const name = occurrence.outgoing_name
    const body = {
      branch_key: textSetting(scope.settings, 'branch_key'),
      name,
      user_data: withoutEmpty({
        developer_identity: person,
        os,
        os_version: device.os_version,
        environment: 'FULL_APP',
        idfa,
        idfv,
        aaid: gaid,
        android_id: androidId,
        country: device.country,
        language: device.locale,
        ip: device.ip,
        model: device.model,
        app_version: app.version,
      }),
      ...(revenue && {
        event_data: withoutEmpty({ transaction_id: transaction?.transaction_id, revenue: revenue.amount, currency: revenue.currency }),
      }),
      custom_data: { ...asText(eventFacts(occurrence, scope.deliveryId), 255), happened_at: String(occurrence.happened_at) },
    }
    const url = vendorUrl(scope.settings, 'https://api2.branch.io', `/v2/event/${STANDARD.has(name) ? 'standard' : 'custom'}`)
    return classifyResponse(await postJson(scope, { url }, body), (status, { error }) => {
      const message = fieldText((error as { message?: unknown } | undefined)?.message)
      return status === 400 && /branch.?key/i.test(message) ? retry(message) : null
    })
  },
}

import { classifyResponse, fieldText, reject, retry, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { eventFacts, revenueOf } from './event-facts.ts'
import { deviceIds, personId } from './ids.ts'
import { fitToLimits } from './vendor-limits.ts'
import { postForm, textSetting, vendorUrl } from './vendor-request.ts'

const MAX_NAME = 32
const MAX_BYTES = 3500

/**
 * Event endpoint v1. A device id is required: IDFA or IDFV, Google advertising id or Android id. `custom_user_id` is the login, else
 * this service's user id. Singular drops no repeats: the delivery's id is in the event's attributes. The status is always 200; the body
 * says whether the event was accepted.
 */
export const singularDestination: EventDestination = {
  slug: 'singular',
  async send(occurrence, scope) {
    const { os, idfa, idfv, gaid, androidId } = deviceIds(occurrence)
    if (!os || ![idfa, idfv, gaid, androidId].some(Boolean)) return unsendable('no_device_id')
    const revenue = revenueOf(occurrence)
    const { device, app } = occurrence
    const url = vendorUrl(scope.settings, 'https://s2s.singular.net', '/api/v1/evt')
    const response = await postForm(
      scope,
      { url },
      {
        a: textSetting(scope.settings, 'sdk_key'),
        i: textSetting(scope.settings, 'app_bundle_id'),
        p: os,
        n: asciiName(occurrence.outgoing_name),
        e: JSON.stringify(fitToLimits(eventFacts(occurrence, scope.deliveryId), { characters: 500, bytes: MAX_BYTES })),
        utime: occurrence.happened_at,
        idfa,
        idfv,
        aifa: gaid,
        andi: androidId,
        custom_user_id: personId(occurrence),
        ip: device.ip,
        // Either `ip` or `use_ip` is required; `use_ip` locates the user at this server.
        use_ip: device.ip ? null : 'true',
        ve: device.os_version ?? '0',
        mo: device.model,
        lc: device.locale,
        app_v: app.version,
        is_revenue_event: revenue && 'true',
        amt: revenue?.amount,
        cur: revenue?.currency,
        purchase_product_id: revenue && occurrence.product_id,
        purchase_transaction_id: revenue && occurrence.transaction?.transaction_id,
      },
    )
    return classifyResponse(response, (status, { status: result, reason }) => {
      if (status >= 300 || result !== 'error') return null
      return /api.?key|auth|limit/i.test(fieldText(reason)) ? retry(reason) : reject(reason)
    })
  },
}

const asciiName = (name: string) => name.replaceAll(/[^\x20-\x7e]/g, '_').slice(0, MAX_NAME)

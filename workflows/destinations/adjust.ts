import { classified, delivered, retry, said, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { asText, facts, revenueOf } from './facts.ts'
import { deviceIds, property } from './ids.ts'
import { postForm, text, vendorUrl } from './post.ts'

/** An event token. */
const TOKEN = /^[a-z0-9]{6}$/i

/**
 * Server-to-server events. The outgoing name is the Adjust event token, so only mapped events can go. Users are found by
 * `_q_adjust_adid` or the device's ids. `deduplication_id` is the delivery's id: the
 * key of Adjust's SDKs, which it does not promise to heed here. Revenue is sent above zero only: Adjust refuses
 * negative amounts.
 */
export const adjust: EventDestination = {
  slug: 'adjust',
  async send(occurrence, scope) {
    if (!TOKEN.test(occurrence.outgoing_name) && !occurrence.test) return unsendable('event_not_mapped')
    const { idfa, gaid, idfv, androidId } = deviceIds(occurrence)
    const adid = property(occurrence, '_q_adjust_adid')
    if (![adid, idfa, gaid, idfv, androidId].some(Boolean)) return unsendable('no_device_id')
    const revenue = revenueOf(occurrence)
    const hasRevenue = revenue !== null && revenue.amount > 0
    const parameters = JSON.stringify(asText(facts(occurrence, scope.deliveryId), 255))
    const url = vendorUrl(scope.settings, 'https://s2s.adjust.com', '/event')
    const token = text(scope.settings, 's2s_token')
    const answer = await postForm(
      scope,
      { url, ...(token && { headers: { authorization: `Bearer ${token}` } }) },
      {
        s2s: 1,
        app_token: text(scope.settings, 'app_token'),
        event_token: occurrence.outgoing_name,
        environment: occurrence.environment,
        created_at_unix: occurrence.happened_at,
        deduplication_id: scope.deliveryId,
        adid,
        idfa,
        gps_adid: gaid,
        idfv,
        android_id: androidId,
        ip_address: occurrence.device.ip,
        revenue: hasRevenue ? revenue.amount : null,
        currency: hasRevenue ? revenue.currency : null,
        callback_params: parameters,
        partner_params: parameters,
      },
    )
    return classified(answer, (status, { error }) => {
      const why = said(error)
      if (status === 400 && /earlier unique event/i.test(why)) return delivered
      return (status === 400 || status === 404) && /app token/i.test(why) ? retry(why) : null
    })
  },
}

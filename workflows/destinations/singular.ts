import type { EventDestination } from './destination.ts'
import { facts, isoTime, revenueOf } from './facts.ts'
import { deviceIds, personId } from './ids.ts'
import { judged, reject, retry, unsendable } from './judge.ts'
import { postForm, text, vendorUrl } from './post.ts'

const MAX_NAME = 32

/**
 * Event endpoint v1. A device's id is needed: IDFA or IDFV, Google advertising id or Android id. `custom_user_id` is the login, else
 * this service's user id. Singular drops no repeats: the delivery's id is in the event's attributes. It says 200 to everything; the
 * body tells.
 */
export const singular: EventDestination = {
  slug: 'singular',
  async send(occurrence, scope) {
    const { os, idfa, idfv, gaid, androidId } = deviceIds(occurrence)
    if (!os || ![idfa, idfv, gaid, androidId].some(Boolean)) return unsendable('no_device_id')
    const revenue = revenueOf(occurrence)
    const { device, app } = occurrence
    const url = vendorUrl(scope.settings, 'https://s2s.singular.net', '/api/v1/evt')
    const answer = await postForm(
      scope,
      { url },
      {
        a: text(scope.settings, 'sdk_key'),
        i: text(scope.settings, 'app_bundle_id'),
        p: os,
        n: asciiName(occurrence.outgoing_name),
        e: JSON.stringify({ ...facts(occurrence, scope.deliveryId), happened_at: isoTime(occurrence.happened_at) }),
        utime: occurrence.happened_at,
        idfa,
        idfv,
        aifa: gaid,
        andi: androidId,
        custom_user_id: personId(occurrence),
        ip: device.ip,
        // Otherwise the user would be placed where this server stands.
        use_ip: device.ip ? null : 'false',
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
    return judged(answer, (status, { status: said, reason }) => {
      if (status >= 300 || said !== 'error') return null
      return /api.?key|auth|limit/i.test(String(reason)) ? retry(reason) : reject(reason)
    })
  },
}

const asciiName = (name: string) => name.replaceAll(/[^\x20-\x7e]/g, '_').slice(0, MAX_NAME)

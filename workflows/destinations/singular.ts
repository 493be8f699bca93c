import { classified, reject, retry, said, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { facts, revenueOf } from './facts.ts'
import { fitted } from './fitted.ts'
import { deviceIds, personId } from './ids.ts'
import { postForm, text, vendorUrl } from './post.ts'

const MAX_NAME = 32
const MAX_BYTES = 3500

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
        e: JSON.stringify(fitted(facts(occurrence, scope.deliveryId), { characters: 500, bytes: MAX_BYTES })),
        utime: occurrence.happened_at,
        idfa,
        idfv,
        aifa: gaid,
        andi: androidId,
        custom_user_id: personId(occurrence),
        ip: device.ip,
        // One of both must be there; this one places the user where this server stands.
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
    return classified(answer, (status, { status: verdict, reason }) => {
      if (status >= 300 || verdict !== 'error') return null
      return /api.?key|auth|limit/i.test(said(reason)) ? retry(reason) : reject(reason)
    })
  },
}

const asciiName = (name: string) => name.replaceAll(/[^\x20-\x7e]/g, '_').slice(0, MAX_NAME)

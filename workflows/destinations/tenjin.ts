import { byStatus, classified, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { revenueOf } from './facts.ts'
import { deviceIds, personId, property } from './ids.ts'
import { basicAuth, postForm, text, vendorUrl } from './post.ts'

/** What Tenjin reads as "tracking is off". */
const NO_ADVERTISER = '00000000-0000-0000-0000-000000000000'

/**
 * Server-to-server events; a purchase above zero goes to `/v0/purchase`. `analytics_installation_id` is the property `_q_tenjin_aiid`,
 * without which Tenjin takes nothing; `customer_user_id` is the login, else this service's user id. Tenjin takes no
 * name of a purchase, no properties and no key against repeats.
 */
export const tenjin: EventDestination = {
  slug: 'tenjin',
  async send(occurrence, scope) {
    const installation = property(occurrence, '_q_tenjin_aiid')
    if (!installation) return unsendable('no_tenjin_id')
    const { os, advertiser, idfv, androidId } = deviceIds(occurrence)
    if (!os) return unsendable('no_platform')
    const revenue = revenueOf(occurrence)
    const isPurchase = revenue !== null && revenue.amount > 0
    const { device, app } = occurrence
    const url = vendorUrl(scope.settings, 'https://track.tenjin.com', isPurchase ? '/v0/purchase' : '/v0/event')
    const headers = { authorization: basicAuth(text(scope.settings, 'sdk_key')) }
    const answer = await postForm(
      scope,
      { url, headers },
      {
        analytics_installation_id: installation,
        advertising_id: advertiser ?? NO_ADVERTISER,
        developer_device_id: idfv ?? androidId,
        bundle_id: text(scope.settings, 'app_bundle_id'),
        platform: os.toLowerCase(),
        limit_ad_tracking: advertiser ? 0 : 1,
        os_version: device.os_version ?? '0',
        sdk_version: 'server',
        app_version: app.version,
        country: device.country,
        locale: device.locale,
        device_model: device.model,
        ip_address: device.ip,
        customer_user_id: personId(occurrence),
        sent_at: occurrence.happened_at * 1000,
        event: isPurchase ? null : occurrence.outgoing_name,
        product_id: isPurchase ? (occurrence.product_id ?? occurrence.outgoing_name) : null,
        price: isPurchase ? revenue.amount : null,
        currency: isPurchase ? revenue.currency : null,
        quantity: isPurchase ? 1 : null,
        // The store's share is taken off already.
        postcut: isPurchase && revenue.isProceeds ? 1 : null,
      },
    )
    return classified(answer, (status, { code }) => (status < 300 && typeof code === 'number' && code !== 200 ? byStatus(code) : null))
  },
}

import { byStatus, classifyResponse, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { revenueOf } from './event-facts.ts'
import { deviceIds, personId, userProperty } from './ids.ts'
import { basicAuth, postForm, textSetting, vendorUrl } from './vendor-request.ts'

/** Tenjin reads this id as "tracking is off". */
const NO_ADVERTISER = '00000000-0000-0000-0000-000000000000'

/**
 * Server-to-server events; a purchase above zero is sent to `/v0/purchase`. `analytics_installation_id` is the property
 * `_q_tenjin_aiid`, which Tenjin requires; `customer_user_id` is the login, else this service's user id. Tenjin accepts no name of a
 * purchase, no properties and no key against repeats.
 */
export const tenjinDestination: EventDestination = {
  slug: 'tenjin',
  async send(occurrence, scope) {
    const installation = userProperty(occurrence, '_q_tenjin_aiid')
    if (!installation) return unsendable('no_tenjin_id')
    const { os, advertiser, idfv, androidId } = deviceIds(occurrence)
    if (!os) return unsendable('no_platform')
    const revenue = revenueOf(occurrence)
    const isPurchase = revenue !== null && revenue.amount > 0
    const { device, app } = occurrence
    const url = vendorUrl(scope.settings, 'https://track.tenjin.com', isPurchase ? '/v0/purchase' : '/v0/event')
    const headers = { authorization: basicAuth(textSetting(scope.settings, 'sdk_key')) }
    const response = await postForm(
      scope,
      { url, headers },
      {
        analytics_installation_id: installation,
        advertising_id: advertiser ?? NO_ADVERTISER,
        developer_device_id: idfv ?? androidId,
        bundle_id: textSetting(scope.settings, 'app_bundle_id'),
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
        // The store's commission is deducted already.
        postcut: isPurchase && revenue.isProceeds ? 1 : null,
      },
    )
    return classifyResponse(response, (status, { code }) =>
      status < 300 && typeof code === 'number' && code !== 200 ? byStatus(code) : null,
    )
  },
}

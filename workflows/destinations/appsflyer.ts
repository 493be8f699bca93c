import { classifyResponse, unsendable } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { isoTime, revenueOf, withoutEmpty } from './event-facts.ts'
import { deviceIds, personId, userProperty } from './ids.ts'
import { postJson, textSetting, vendorUrl } from './vendor-request.ts'

/**
 * Server-to-server in-app events with the dev key (api2; for an S2S key of api3 set `base_url`). `appsflyer_id` is the property
 * `_q_appsflyer_user_id`; without it AppsFlyer accepts no event. `customer_user_id` is the login, else this service's user id. There is no
 * key against repeats: the delivery's id is in `eventValue`. A message may have 1 KB, so properties are not sent.
 */
export const appsflyerDestination: EventDestination = {
  slug: 'appsflyer',
  async send(occurrence, scope) {
    const appsflyer_id = userProperty(occurrence, '_q_appsflyer_user_id')
    if (!appsflyer_id) return unsendable('no_appsflyer_id')
    const { idfa, gaid, idfv } = deviceIds(occurrence)
    const revenue = revenueOf(occurrence)
    const body = withoutEmpty({
      appsflyer_id,
      customer_user_id: personId(occurrence),
      idfa,
      idfv,
      advertising_id: gaid,
      ip: occurrence.device.ip,
      app_version_name: occurrence.app.version,
      os: occurrence.device.os_version,
      eventName: occurrence.outgoing_name,
      eventTime: isoTime(occurrence.happened_at)!.replace('T', ' ').replace('Z', ''),
      eventCurrency: revenue?.currency,
      eventValue: JSON.stringify(
        withoutEmpty({
          af_revenue: revenue?.amount,
          af_currency: revenue?.currency,
          af_quantity: revenue && 1,
          af_content_id: occurrence.product_id,
          af_order_id: occurrence.transaction?.transaction_id,
          delivery_id: scope.deliveryId,
        }),
      ),
      af_events_api: 'true',
    })
    const given = textSetting(scope.settings, 'app_id')
    // For an App Store number without "id" AppsFlyer answers 200 and drops the event.
    const app = encodeURIComponent(/^\d+$/.test(given) ? `id${given}` : given)
    const url = vendorUrl(scope.settings, 'https://api2.appsflyer.com', `/inappevent/${app}`)
    return classifyResponse(await postJson(scope, { url, headers: { authentication: textSetting(scope.settings, 'dev_key') } }, body))
  },
}

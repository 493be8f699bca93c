import { classifyResponse, reject } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { eventFacts, isoTime, revenueOf, withoutEmpty } from './event-facts.ts'
import { deviceIds, loginId, ownProperties } from './ids.ts'
import { fitToLimits } from './vendor-limits.ts'
import { basicAuth, postJson, textSetting, vendorUrl } from './vendor-request.ts'

/** A call may have 32 KB; the traits and the context need a part of it. */
const MAX_BYTES = 16_000

/**
 * HTTP Tracking API. `userId` is the login, `anonymousId` this service's user id (the event's id for an event without user). By
 * `messageId` Segment drops repeats. Segment answers 200 to a wrong write key, too: check its debugger after the first event.
 */
export const segmentDestination: EventDestination = {
  slug: 'segment',
  async send(occurrence, scope) {
    const { os, advertiser } = deviceIds(occurrence)
    const { device, app } = occurrence
    const revenue = revenueOf(occurrence)
    const login = loginId(occurrence)
    const body = {
      ...(login && { userId: login }),
      anonymousId: occurrence.user?.id ?? occurrence.id,
      messageId: scope.deliveryId,
      event: occurrence.outgoing_name,
      timestamp: isoTime(occurrence.happened_at),
      properties: {
        ...fitToLimits(eventFacts(occurrence, scope.deliveryId), { bytes: MAX_BYTES }),
        ...withoutEmpty({ value: revenue?.amount }),
      },
      context: {
        ...withoutEmpty({ ip: device.ip, locale: device.locale }),
        app: withoutEmpty({ name: app.name, version: app.version, namespace: app.id }),
        device: withoutEmpty({ id: device.id, model: device.model, advertisingId: advertiser, type: os?.toLowerCase() }),
        os: withoutEmpty({ name: os, version: device.os_version }),
        traits: fitToLimits(ownProperties(occurrence), { bytes: MAX_BYTES - 4000 }),
      },
    }
    const url = vendorUrl(scope.settings, 'https://api.segment.io', '/v1/track')
    const headers = { authorization: basicAuth(textSetting(scope.settings, 'write_key')) }
    return classifyResponse(await postJson(scope, { url, headers }, body), (status, { success }) =>
      status < 300 && success === false ? reject('not accepted') : null,
    )
  },
}

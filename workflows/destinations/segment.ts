import { classified, reject } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { facts, isoTime, known, revenueOf } from './facts.ts'
import { fitted } from './fitted.ts'
import { deviceIds, loginId, ownProperties } from './ids.ts'
import { basicAuth, postJson, text, vendorUrl } from './post.ts'

/** A call may have 32 KB; the traits and the context need some of it. */
const MAX_BYTES = 16_000

/**
 * HTTP Tracking API. `userId` is the login, `anonymousId` this service's user id (the event's for an event of nobody); `messageId`
 * drops repeats. Segment says 200 to a wrong write key, too: look into its debugger after the first event.
 */
export const segment: EventDestination = {
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
        ...fitted(facts(occurrence, scope.deliveryId), { bytes: MAX_BYTES }),
        ...known({ value: revenue?.amount }),
      },
      context: {
        ...known({ ip: device.ip, locale: device.locale }),
        app: known({ name: app.name, version: app.version, namespace: app.id }),
        device: known({ id: device.id, model: device.model, advertisingId: advertiser, type: os?.toLowerCase() }),
        os: known({ name: os, version: device.os_version }),
        traits: fitted(ownProperties(occurrence), { bytes: MAX_BYTES - 4000 }),
      },
    }
    const url = vendorUrl(scope.settings, 'https://api.segment.io', '/v1/track')
    const headers = { authorization: basicAuth(text(scope.settings, 'write_key')) }
    return classified(await postJson(scope, { url, headers }, body), (status, { success }) =>
      status < 300 && success === false ? reject('not accepted') : null,
    )
  },
}

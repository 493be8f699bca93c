import type { EventDestination } from './destination.ts'
import { facts, isoTime, known, revenueOf } from './facts.ts'
import { deviceIds, loginId, ownProperties } from './ids.ts'
import { judged, reject } from './judge.ts'
import { basicAuth, postJson, text, vendorUrl } from './post.ts'

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
        ...facts(occurrence, scope.deliveryId),
        ...known({ revenue: revenue?.amount, value: revenue?.amount, currency: revenue?.currency }),
      },
      context: {
        ...known({ ip: device.ip, locale: device.locale }),
        app: known({ name: app.name, version: app.version, namespace: app.id }),
        device: known({ id: device.id, model: device.model, advertisingId: advertiser, type: os?.toLowerCase() }),
        os: known({ name: os, version: device.os_version }),
        traits: ownProperties(occurrence),
      },
    }
    const url = vendorUrl(scope.settings, 'https://api.segment.io', '/v1/track')
    const headers = { authorization: basicAuth(text(scope.settings, 'write_key')) }
    return judged(await postJson(scope, { url, headers }, body), (status, { success }) =>
      status < 300 && success === false ? reject('not accepted') : null,
    )
  },
}

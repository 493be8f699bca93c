import { createHash } from 'node:crypto'
import type { OutgoingEvent } from '../../domain/integrations/outgoing-event.ts'

const NO_ADVERTISER = /^[0-]*$/
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The caller's own id of the user: the identity, else `_q_custom_user_id`; null for a user who never logged in. */
export const loginId = ({ user }: OutgoingEvent): string | null => user?.identity_id || user?.properties._q_custom_user_id || null

/** The login, else this service's own user id; null for an event without user. */
export const personId = (occurrence: OutgoingEvent): string | null => loginId(occurrence) ?? occurrence.user?.id ?? null

export const userProperty = ({ user }: OutgoingEvent, name: string): string | null => user?.properties[name] || null

/** The caller's own properties. Registered ones (`_q_…`: addresses, ids of other vendors) are sent only to the vendor that each is meant for. */
export const ownProperties = ({ user }: OutgoingEvent): Record<string, string> =>
  Object.fromEntries(Object.entries(user?.properties ?? {}).filter(([name]) => !name.startsWith('_q_')))

export type DeviceIds = {
  os: 'iOS' | 'Android' | null
  /** IDFA or Google advertising id; null where tracking is off (all zeros). */
  advertiser: string | null
  idfa: string | null
  gaid: string | null
  idfv: string | null
  androidId: string | null
}

export function deviceIds(occurrence: OutgoingEvent): DeviceIds {
  const { device, platform } = occurrence
  const isApple = platform === 'iOS' || /^(iphone|ipad|ipod)/i.test(device.model ?? '')
  const os = isApple ? 'iOS' : platform === 'Android' ? 'Android' : null
  const given = device.advertiser_id || userProperty(occurrence, '_q_advertising_id')
  const advertiser = given && !NO_ADVERTISER.test(given) ? given : null
  return {
    os,
    advertiser,
    idfa: os === 'iOS' ? advertiser : null,
    gaid: os === 'Android' ? advertiser : null,
    idfv: os === 'iOS' && UUID.test(device.id ?? '') ? device.id : null,
    androidId: os === 'Android' && /^[0-9a-f]{16}$/i.test(device.id ?? '') ? device.id : null,
  }
}

/** A UUID derived from the delivery's id, for vendors that accept no other key. */
export function uuidOf(deliveryId: string): string {
  const hex = createHash('sha256').update(deliveryId).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

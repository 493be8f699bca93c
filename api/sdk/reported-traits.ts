import type { IncomingHttpHeaders } from 'node:http'
import type { ReportedTraits } from '../../domain/audience/customers/app-user.ts'
import { namedPlatform, textOf, traitsInHeaders } from '../v3/sdk-headers.ts'
import type { SdkPlatform } from './operation.ts'

const LONGEST = 255
const LOCALE = /^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*$/
const COUNTRY = /^[A-Za-z]{2}$/
/** The advertising id that iOS returns to an app that may not track its user. */
const NO_ADVERTISER = /^[0-]+$/

/** A text, also of a number, cut; undefined when it is empty or something else. */
function fieldOf(device: Record<string, unknown>, name: string): string | undefined {
  const value = device[name]
  const text = typeof value === 'number' ? String(value) : typeof value === 'string' ? value.trim() : ''
  return text === '' || text.includes('\0') ? undefined : text.slice(0, LONGEST)
}

const matching = (text: string | undefined, pattern: RegExp): string | undefined => (text && pattern.test(text) ? text : undefined)

/** The app and device of a request: from its headers, and, for missing headers, from its body. */
export function reportedTraits(headers: IncomingHttpHeaders, body: unknown): ReportedTraits {
  const { device: named, d, version, v } = (body ?? {}) as Record<string, unknown>
  const sent = named ?? d
  const device = typeof sent === 'object' && sent !== null && !Array.isArray(sent) ? (sent as Record<string, unknown>) : {}
  const reported = traitsInHeaders(headers)
  const platform = reported.platform ?? namedPlatform(fieldOf(device, 'os')) ?? namedPlatform(fieldOf(device, 'platform'))
  const advertiser = fieldOf(device, 'advertiser_id')
  const texts = {
    id: fieldOf(device, 'device_id'),
    model: fieldOf(device, 'model'),
    os_version: fieldOf(device, 'os_version'),
    locale: matching(fieldOf(device, 'locale'), LOCALE),
    country: matching(fieldOf(device, 'country'), COUNTRY)?.toUpperCase(),
    advertiser_id: advertiser && NO_ADVERTISER.test(advertiser) ? undefined : advertiser,
  }
  const app = { version: fieldOf(device, 'app_version'), sdk_version: fieldOf({ version: version ?? v }, 'version') }
  return {
    ...(platform && { platform }),
    device: { ...known(texts), ...reported.device },
    app: { ...known(app), ...reported.app },
  }
}

const known = (texts: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(texts).filter((entry): entry is [string, string] => entry[1] !== undefined))

/** The header `Platform`, or, if it is missing, the device. Undefined: it is no platform of the SDKs. */
export function platformOfCall(headers: IncomingHttpHeaders, { platform }: ReportedTraits): SdkPlatform | undefined {
  const named = textOf(headers, 'platform')
  const platformSent = named === undefined ? platform : namedPlatform(named)
  return platformSent === 'iOS' || platformSent === 'Android' ? platformSent : undefined
}

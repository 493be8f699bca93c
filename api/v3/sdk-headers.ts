import type { IncomingHttpHeaders } from 'node:http'
import type { ReportedTraits } from '../../domain/audience/customers/app-user.ts'

const LONGEST = 255
const APPLE = /^(mac|i|ipad|tv|watch|vision)os$|^(mac os x|osx|mac|apple)$/i
const COUNTRY = /^[A-Za-z]{2}$/

/** A header's text, cut; undefined when it is absent or empty. */
export function textOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  const text = (Array.isArray(value) ? value[0] : value)?.trim()
  return text ? text.slice(0, LONGEST) : undefined
}

export function namedPlatform(text: string | undefined): 'iOS' | 'Android' | undefined {
  if (text === undefined) return undefined
  if (APPLE.test(text)) return 'iOS'
  return /^android$/i.test(text) ? 'Android' : undefined
}

/** The user whom the header names, for requests that name none in path and query. */
export const userInHeader = (headers: IncomingHttpHeaders): string | undefined => textOf(headers, 'user-id')

/** The device and the app in the headers of client SDKs. The version of the platform `web` is that of the SDK, not of a system. */
export function traitsInHeaders(headers: IncomingHttpHeaders): ReportedTraits {
  const named = textOf(headers, 'platform')
  const platform = namedPlatform(named)
  const system = named?.toLowerCase() === 'web' ? undefined : textOf(headers, 'platform-version')
  const locale = textOf(headers, 'user-locale')
  const country = textOf(headers, 'country')
  const version = textOf(headers, 'app-version')
  const sdk = textOf(headers, 'source-version')
  return {
    ...(platform && { platform }),
    device: {
      ...(system && { os_version: system }),
      ...(locale && { locale }),
      ...(country && COUNTRY.test(country) && { country: country.toUpperCase() }),
    },
    app: { ...(version && { version }), ...(sdk && { sdk_version: sdk }) },
  }
}

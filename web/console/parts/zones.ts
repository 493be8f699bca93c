import type { Option } from './pick.tsx'

/** The zones of this browser, UTC first. Made when they are first asked for: there are over 400. */
let kept: Option[] | undefined
export const zones = (): Option[] => {
  kept ??= ['UTC', ...Intl.supportedValuesOf('timeZone').filter(zone => zone !== 'UTC')].map(zone => ({ code: zone, label: zone }))
  return kept
}

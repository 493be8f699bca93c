import { isIP } from 'node:net'

/** What a passkey belongs to (the relying party), and the pages that may use it. */
export type Site = { id: string; origin: string }

/**
 * The host of the public address, and no other name under which the service answers: `Host` is what the caller says, and a page elsewhere that passes
 * everything on would be as good as our own. Null: browsers have no passkeys for bare network addresses.
 */
export function siteOf(publicUrl: string): Site | null {
  if (!URL.canParse(publicUrl)) return null
  const { hostname, origin } = new URL(publicUrl)
  return isIP(hostname.replaceAll(/^\[|\]$/g, '')) === 0 ? { id: hostname, origin } : null
}

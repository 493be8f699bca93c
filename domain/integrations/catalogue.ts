import { PROVIDERS } from './providers.ts'

/** What a setting may hold: text ≤ 2,048 characters unless `long` (keys in JSON or PEM ≤ 16 KiB). */
export type SettingKind = 'text' | 'long' | 'url' | 'email' | 'port' | 'boolean' | 'emails' | 'signing_secret'

export type Setting = {
  name: string
  kind: SettingKind
  /** Without it the integration cannot be activated; those of one `choice` do for each other. */
  required: boolean
  choice?: string
  /** Write-only: answers say `has_{name}`. */
  secret: boolean
  default?: string | boolean
}

/** E: events as they happen, R: report files, A: automation steps. */
export type Takes = 'E' | 'R' | 'A'
export type TargetPlatform = 'iOS' | 'Android' | 'Stripe'

export type Provider = {
  category: string
  slug: string
  title: string
  stores: readonly TargetPlatform[]
  takes: readonly Takes[]
  settings: readonly Setting[]
}

const bySlug = new Map(PROVIDERS.map(provider => [provider.slug, provider]))

/** Of a slug that stands in the table: a stored integration has no other. */
export function providerOf(slug: string): Provider {
  const provider = bySlug.get(slug)
  if (!provider) throw new Error(`no provider ${slug}`)
  return provider
}

export const takesEvents = (slug: string): boolean => providerOf(slug).takes.includes('E')

/** Categories with their providers, in the order of the table. */
export function categories(): { title: string; items: Provider[] }[] {
  const titles = [...new Set(PROVIDERS.map(({ category }) => category))]
  return titles.map(title => ({ title, items: PROVIDERS.filter(({ category }) => category === title) }))
}

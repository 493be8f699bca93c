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

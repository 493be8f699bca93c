/** The type of a setting's value. Text has at most 2,048 characters, `long` (keys in JSON or PEM) at most 16 KiB. */
export type SettingKind = 'text' | 'long' | 'url' | 'email' | 'port' | 'boolean' | 'emails' | 'signing_secret'

export type Setting = {
  name: string
  kind: SettingKind
  /** The integration cannot be activated without it. Of several settings with the same `choice`, one is enough. */
  required: boolean
  choice?: string
  /** Write-only: the API answers `has_{name}` in its stead. */
  secret: boolean
  /** A part of the address that requests go to, where that is not a setting of the kind `url`. */
  isHost?: boolean
  default?: string | boolean
}

/** The data that a provider receives. E: events as they happen, R: report files, A: automation steps. */
export type Takes = 'E' | 'R' | 'A'
export type IntegrationPlatform = 'iOS' | 'Android' | 'Stripe'

export type Provider = {
  category: string
  slug: string
  title: string
  stores: readonly IntegrationPlatform[]
  takes: readonly Takes[]
  settings: readonly Setting[]
}

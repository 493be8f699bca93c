import { NO_EVENT_TYPE, slugOf } from '../events/catalogue.ts'
import { type Detail, invalidFields } from '../kernel/refusal.ts'
import { MAX_SECRET_BYTES } from '../projects/secrets.ts'
import type { Provider, Setting } from './provider.ts'

export type ConfigInput = {
  settings: Record<string, unknown>
  events: string[] | null
  event_mapping: Record<string, string>
  revenue: 'price' | 'proceeds'
}

const MAX_CHARACTERS = 2048
const MAX_RECIPIENTS = 50
/** A mailbox and a host, of characters that can be stored. Only the mail server knows whether the address exists. */
const EMAIL = /^[^\s@<>,;\p{Cc}\p{Cs}]{1,64}@[^\s@<>,;\p{Cc}\p{Cs}]{1,189}$/u
const SIGNING_SECRET_FORM = /^whsec_[A-Za-z0-9+/]+={0,2}$/

/** 24 to 64 bytes, as Standard Webhooks requires. */
function isSigningSecret(value: string): boolean {
  if (!SIGNING_SECRET_FORM.test(value)) return false
  const encoded = value.slice('whsec_'.length)
  const bytes = Buffer.from(encoded, 'base64')
  return bytes.length >= 24 && bytes.length <= 64 && bytes.toString('base64') === encoded
}

function validateUrl(value: string, allowPrivate: boolean): string | null {
  const protocols = allowPrivate ? ['https:', 'http:'] : ['https:']
  if (
    !URL.canParse(value) ||
    !protocols.includes(new URL(value).protocol) ||
    new URL(value).username !== '' ||
    new URL(value).password !== ''
  )
    return allowPrivate
      ? 'must be an address that begins with https:// or http://, such as https://example.org/hook'
      : 'must be an address that begins with https://, such as https://example.org/hook (http:// only where the service runs with ALLOW_PRIVATE_NETWORK=true)'
  return null
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** Why the value is invalid for the setting; null when it is valid. */
function validateSetting({ kind }: Setting, value: unknown, allowPrivate: boolean): string | null {
  if (kind === 'boolean') return typeof value === 'boolean' ? null : 'must be a boolean'
  if (kind === 'port')
    return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 65_535
      ? null
      : 'must be a whole number from 1 to 65535'
  if (kind === 'emails')
    return Array.isArray(value) && value.length <= MAX_RECIPIENTS ? null : `must be a list of at most ${MAX_RECIPIENTS} e-mail addresses`
  if (!isText(value)) return 'must be a text that is not empty'
  if (/[\0]/.test(value) || !value.isWellFormed()) return 'must not hold NUL or a lone surrogate'
  if (kind === 'long') return Buffer.byteLength(value) <= MAX_SECRET_BYTES ? null : 'must have at most 16 KiB'
  if ([...value].length > MAX_CHARACTERS) return `must have at most ${MAX_CHARACTERS} characters`
  if (kind === 'signing_secret')
    return isSigningSecret(value) ? null : 'must be whsec_ and the base64 of 24 to 64 bytes, such as whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  if (kind === 'url') return validateUrl(value, allowPrivate)
  // The value becomes part of an HTTP header: a line break would begin another header.
  return /[\r\n]/.test(value) ? 'must be one line' : null
}

function itemFaults(field: string, items: unknown[]): Detail[] {
  return items.flatMap((item, i) =>
    typeof item === 'string' && EMAIL.test(item)
      ? []
      : { field: `${field}[${i}]`, message: 'must be an e-mail address such as ada@example.org' },
  )
}

/** The faults of the settings that are given. */
export function validateSettings(
  provider: Pick<Provider, 'title' | 'settings'>,
  settings: Record<string, unknown>,
  allowPrivate: boolean,
): Detail[] {
  const known = new Map(provider.settings.map(setting => [setting.name, setting]))
  return Object.entries(settings).flatMap(([name, value]) => {
    const setting = known.get(name)
    const field = `settings.${name}`
    if (!setting) return { field, message: `is not a setting of ${provider.title}` }
    const message = value === null ? null : validateSetting(setting, value, allowPrivate)
    if (message !== null) return { field, message }
    return Array.isArray(value) ? itemFaults(field, value) : []
  })
}

/** Throws `invalid_data` with all faults. `allowPrivate`: whether the operator's configuration allows `http` addresses. */
export function validateConfig(provider: Provider, input: ConfigInput, allowPrivate: boolean): void {
  const faults = validateSettings(provider, input.settings, allowPrivate)
  for (const [i, type] of (input.events ?? []).entries())
    if (type !== '*' && slugOf(type) === null) faults.push({ field: `events[${i}]`, message: NO_EVENT_TYPE })
  for (const type of Object.keys(input.event_mapping))
    if (slugOf(type) === null) faults.push({ field: `event_mapping.${type}`, message: NO_EVENT_TYPE })
  if (faults.length > 0) throw invalidFields(faults)
}

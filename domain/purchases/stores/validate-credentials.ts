import { createPrivateKey } from 'node:crypto'
import { type Detail, invalidFields, Refusal } from '../../kernel/refusal.ts'
import { MAX_SECRET_BYTES } from '../../projects/secrets.ts'
import { CONNECT_TRIPLET, IAP_TRIPLET, STORE_CONFIG_PARTS, type StorePlatform } from './config.ts'

/** Fields and secrets by name: a string is stored, null removes the stored value, an absent name changes nothing. */
export type StoreChange = Record<string, string | null>

function isPrivateKey(text: string): boolean {
  try {
    return createPrivateKey(text).type === 'private'
  } catch {
    return false
  }
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

/** Keys of live mode (Stripe) and of the live account (Paddle). */
const LIVE_KEY = /^(sk_live_|rk_live_|pdl_live_)/

function validateValue(platform: StorePlatform, name: string, value: string | null): string | null {
  const { fields, secrets } = STORE_CONFIG_PARTS[platform]
  if (!fields.includes(name) && !secrets.includes(name)) return `unknown field of ${platform}`
  if (value === null || !secrets.includes(name)) return null
  if (Buffer.byteLength(value) > MAX_SECRET_BYTES) return `must have at most ${MAX_SECRET_BYTES} bytes`
  if (name.endsWith('_private_key') && !isPrivateKey(value)) return 'must be a private key in PEM'
  if (name === 'sandbox_api_key' && LIVE_KEY.test(value)) return 'must not be a live key: purchases of the sandbox would be asked of it'
  if (name === 'service_account_key' && !isObject(value)) return 'must be the JSON text of an object'
  return null
}

/** Throws `invalid_data` for an invalid value. */
export function validateStoreChange(platform: StorePlatform, change: StoreChange): void {
  const faults: Detail[] = Object.entries(change).flatMap(([field, value]) => {
    const message = validateValue(platform, field, value)
    return message === null ? [] : [{ field, message }]
  })
  if (faults.length > 0) throw invalidFields(faults)
}

/** Throws `incomplete_credentials` when only a part of a triplet is given. */
export function refuseIncomplete(change: StoreChange): void {
  for (const triplet of [CONNECT_TRIPLET, IAP_TRIPLET]) {
    const kinds = new Set(triplet.map(name => (change[name] === null ? 'null' : typeof change[name])))
    if (kinds.size > 1)
      throw new Refusal('incomplete_credentials', `${triplet.join(', ')} must be given together: all as strings, all as null, or none`)
  }
}

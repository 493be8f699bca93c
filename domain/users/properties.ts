import type { Db, Tx } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { invalidField, notFound } from '../kernel/refusal.ts'

export type Property = { key: string; value: string }
export type PropertyError = { key: string; reason: string }
type Properties = Record<string, string>

const MAX_KEYS = 100
const MAX_VALUE_BYTES = 120
const KEY = /^(?=.*[A-Za-z])[-a-zA-Z0-9_.:]{1,80}$/
const FORBIDDEN_IN_VALUE = /[\n\r"'\0]/

const REGISTERED = new Set(
  `email name custom_user_id kochava_device_id appsflyer_user_id adjust_adid fb_attribution firebase_instance_id app_set_id
   advertising_id appmetrica_device_id appmetrica_user_profile_id pushwoosh_hwid pushwoosh_user_id tenjin_aiid app_version`
    .split(/\s+/)
    .map(name => `_q_${name}`),
)

/** The user's properties, by key in code point order. */
export async function listProperties(db: Db, environment: Environment, user: string): Promise<Property[]> {
  // An ordered range leaves one index to a plan that was made while the table was empty.
  const { rows } = await db.query<{ properties: string }>({
    name: 'list-properties',
    text: 'select properties_sorted as properties from users where environment = $1 and id >= $2 and id <= $2 order by id limit 1',
    values: [environment, user],
  })
  if (!rows[0]) throw notFound('user')
  return sortedProperties(rows[0].properties)
}

/** The column `properties_sorted` as a list, by key in code point order. */
export const sortedProperties = (text: string): Property[] =>
  Object.entries(JSON.parse(text) as Properties)
    .map(([key, value]) => ({ key, value }))
    .sort((a, b) => (a.key < b.key ? -1 : 1)) // JSON.parse moves keys like "1" to the front

/** Why no user can have a property with this key; null when a user can. */
export function keyFault(key: string): string | null {
  if (!KEY.test(key)) return 'invalid key format'
  return key.startsWith('_') && !REGISTERED.has(key) ? 'reserved key' : null
}

/** Why a property cannot be set, and whether the key or the value is at fault; null when it can. The limit of keys is not checked here. */
export function propertyFault({ key, value }: Property): { in: 'key' | 'value'; error: string } | null {
  const wrongKey = keyFault(key)
  if (wrongKey) return { in: 'key', error: wrongKey }
  const isWrong = Buffer.byteLength(value) > MAX_VALUE_BYTES || FORBIDDEN_IN_VALUE.test(value)
  return isWrong ? { in: 'value', error: 'invalid value format' } : null
}

/**
 * Validates each property alone, in order, and writes the valid ones together. Of equal keys the last valid one counts and is listed
 * once. `before`: the former values of the saved keys that existed.
 */
export async function setProperties(
  tx: Tx,
  environment: Environment,
  user: string,
  given: Property[],
): Promise<{ saved: Property[]; errors: PropertyError[]; before: Properties }> {
  const properties = await lockProperties(tx, environment, user)
  const keys = new Set(Object.keys(properties))
  const saved = new Map<string, Property>()
  const errors: PropertyError[] = []
  for (const property of given) {
    const { key } = property
    const reason = propertyFault(property)?.error ?? (keys.has(key) || keys.size < MAX_KEYS ? null : 'too many properties')
    if (reason) {
      errors.push({ key, reason })
      continue
    }
    keys.add(key)
    saved.delete(key)
    saved.set(key, property)
  }
  if (saved.size === 0) return { saved: [], errors, before: {} }
  await tx.query(
    `update users set properties = properties || $3::jsonb, last_seen_at = greatest(last_seen_at, environment_now($1))
     where environment = $1 and id = $2`,
    [environment, user, JSON.stringify(Object.fromEntries([...saved.values()].map(p => [p.key, p.value])))],
  )
  const before = Object.fromEntries(Object.entries(properties).filter(([key]) => saved.has(key)))
  return { saved: [...saved.values()], errors, before }
}

/** The error message of a property in v4. */
export const propertyErrors = (errors: PropertyError[]): { key: string; error: string }[] =>
  errors.map(({ key, reason }) => ({ key, error: `property key: ${key}. Error: ${reason}` }))

/** Throws `invalid_data` with the error of each property, when no property was saved. */
export function requireSaved(saved: Property[], errors: PropertyError[]): void {
  if (saved.length > 0) return
  const texts = propertyErrors(errors).map(({ error }) => error)
  throw invalidField('properties', texts.join('; ').slice(0, 1000))
}

/** Locks the user's row and reads its properties. */
async function lockProperties(tx: Tx, environment: Environment, user: string): Promise<Properties> {
  const { rows } = await tx.query<{ properties: Properties }>(
    'select properties from users where environment = $1 and id = $2 for no key update',
    [environment, user],
  )
  if (!rows[0]) throw notFound('user')
  return rows[0].properties
}

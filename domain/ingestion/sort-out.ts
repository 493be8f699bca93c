import { eventType } from '../events/catalogue.ts'
import { transactionKey } from '../events/entry.ts'
import { type EventInput, type ItemError, type ItemResult, invalidItem } from '../events/item.ts'
import type { FoundUser, LookUp } from '../events/look-up.ts'
import { isCurrency } from '../events/money.ts'
import type { Detail } from '../refusal.ts'
import { micros } from '../time/instant.ts'

/** An item that breaks no rule and is not in the log: `user` has an empty id while it is still to be made. */
export type Candidate = {
  index: number
  item: EventInput
  at: number
  user: FoundUser | null
  platform: string | null
  transactionKey: string | null
}
/** Repeats within the batch point at the index of the item that they repeat. */
export type Sorted = { results: (ItemResult | undefined)[]; repeats: Map<number, number>; candidates: Candidate[] }

const newcomer = (identity: string): FoundUser => ({
  id: '',
  identity_id: identity,
  platform: null,
  device_id: null,
  device_model: null,
  advertiser_id: null,
  os_version: null,
  locale: null,
  country: null,
  app_version: null,
  sdk_version: null,
  known_at: null,
  media_source: null,
  campaign: null,
  ad_set: null,
  ad: null,
  attributed_at: null,
})

const conflict: ItemError = {
  code: 'idempotency_conflict',
  message: 'event_id is there already with another event_name, user or happened_at',
  details: [{ field: 'event_id', message: 'is there already with another event_name, user or happened_at' }],
}
const unknownUser: ItemError = {
  code: 'not_found',
  message: 'customer_uid not found',
  details: [{ field: 'customer_uid', message: 'not found' }],
}

/** Judges each item alone, in order, against the log and against the items before it. */
export function sortOut(items: (EventInput | ItemError)[], look: LookUp): Sorted {
  const results: (ItemResult | undefined)[] = new Array(items.length).fill(undefined)
  const repeats = new Map<number, number>()
  const candidates: Candidate[] = []
  const seen = new Map<string, Candidate>()
  const platforms = new Map<FoundUser, string>()

  const userOf = (item: EventInput): FoundUser | null | undefined => {
    if (item.customer_uid !== undefined) return look.users.get(item.customer_uid)
    if (item.identity_id === undefined) return null
    const found = look.identities.get(item.identity_id) ?? newcomer(item.identity_id)
    look.identities.set(item.identity_id, found)
    // The same person may be named in both ways within one batch.
    return look.users.get(found.id) ?? found
  }

  for (const [index, item] of items.entries()) {
    const reject = (error: ItemError) => {
      results[index] = { status: 'rejected', error }
    }
    if ('code' in item) {
      reject(item)
      continue
    }
    const at = micros(item.happened_at)
    const faults = validateItem(item, at, look.now)
    if (faults.length > 0) {
      reject(invalidItem(faults))
      continue
    }
    const user = userOf(item)
    if (user === undefined) {
      reject(unknownUser)
      continue
    }
    const stored = look.events.get(item.event_id)
    if (stored) {
      const same = stored.name === item.event_name && stored.user_id === (user?.id ?? null) && stored.happened_at === at
      if (same) results[index] = { status: 'duplicate', id: stored.id }
      else reject(conflict)
      continue
    }
    const before = seen.get(item.event_id)
    if (before) {
      const same = before.item.event_name === item.event_name && before.user === user && before.at === at
      if (same) repeats.set(index, before.index)
      else reject(conflict)
      continue
    }
    const platform = item.platform ?? (user && (platforms.get(user) ?? user.platform))
    if (user && item.platform) platforms.set(user, item.platform)
    const candidate: Candidate = { index, item, at, user, platform, transactionKey: transactionKey(item, platform) }
    seen.set(item.event_id, candidate)
    candidates.push(candidate)
  }
  return { results, repeats, candidates }
}

/** An occurrence may lie this far ahead: clocks of servers differ. */
const FUTURE_MICROS = 5 * 60 * 1_000_000

/** The rules for one item that a schema cannot say; empty when it may be stored. `at` (when it happened) and `now` in µs. */
export function validateItem(item: EventInput, at: number, now: number): Detail[] {
  const faults: Detail[] = []
  const fault = (field: string, message: string) => faults.push({ field, message })
  const value = eventType(item.event_name)?.value ?? 'custom'
  if (item.customer_uid !== undefined && item.identity_id !== undefined) fault('identity_id', 'is not allowed together with customer_uid')
  if (at > now + FUTURE_MICROS) fault('happened_at', 'lies more than 5 minutes in the future')
  if (item.price !== undefined) {
    if (value === 'none') fault('price', `is not allowed for ${item.event_name}`)
    else if (value !== 'out' && item.price.startsWith('-') && /[1-9]/.test(item.price)) fault('price', 'must be >= 0')
    if (item.currency === undefined) fault('currency', 'is required with price')
    else if (!isCurrency(item.currency.toUpperCase())) fault('currency', 'is no ISO 4217 code')
  } else {
    if (item.currency !== undefined) fault('currency', 'is not allowed without price')
    for (const field of ['proceeds', 'price_usd', 'proceeds_usd'] as const) {
      if (item[field] !== undefined) fault(field, 'is not allowed without price')
    }
  }
  return faults
}

import { eventType } from '../events/catalogue.ts'
import { transactionKey } from '../events/entry.ts'
import { type EventInput, type ItemError, type ItemResult, invalidItem } from '../events/item.ts'
import type { FoundUser, LookUp } from '../events/look-up.ts'
import { isCurrency, NO_CURRENCY } from '../events/money.ts'
import { noTraits } from '../events/traits.ts'
import { MAX_AHEAD_MS, TOO_FAR_AHEAD } from '../kernel/limits.ts'
import type { Detail } from '../kernel/refusal.ts'
import { micros } from '../kernel/time/instant.ts'
import { PERIOD_FACTS } from '../purchases/subscriptions/posted.ts'
import { type Durations, NO_END, transactionFaults, withEnd } from './period-end.ts'

/** An item that is valid and not in the log. The id of a user who must still be created is empty. */
export type NewItem = {
  index: number
  item: EventInput
  at: number
  user: FoundUser | null
  platform: string | null
  transactionKey: string | null
}
/** `repeats`: for an item that repeats an earlier item of the batch, the index of both. */
type Validated = { results: (ItemResult | undefined)[]; repeats: Map<number, number>; newItems: NewItem[] }

const newUser = (identity: string): FoundUser => ({ id: '', identity_id: identity, ...noTraits() })

const CONFLICT = 'exists already with another event_name, user or happened_at'
const conflict: ItemError = {
  code: 'idempotency_conflict',
  message: `event_id ${CONFLICT}`,
  details: [{ field: 'event_id', message: CONFLICT }],
}
const unknownUser: ItemError = {
  code: 'not_found',
  message: 'customer_uid not found',
  details: [{ field: 'customer_uid', message: 'not found' }],
}

/** Validates each item alone, in order, against the log and against the earlier items of the batch. */
export function validateItems(items: (EventInput | ItemError)[], found: LookUp, durations: Durations): Validated {
  const results: (ItemResult | undefined)[] = new Array(items.length).fill(undefined)
  const repeats = new Map<number, number>()
  const newItems: NewItem[] = []
  const earlier = new Map<string, NewItem>()
  const platforms = new Map<FoundUser, string>()

  const userOf = (item: EventInput): FoundUser | null | undefined => {
    if (item.customer_uid !== undefined) return found.users.get(item.customer_uid)
    if (item.identity_id === undefined) return null
    const user = found.identities.get(item.identity_id) ?? newUser(item.identity_id)
    found.identities.set(item.identity_id, user)
    // One batch may name the same user by id and by identity.
    return found.users.get(user.id) ?? user
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
    const faults = itemFaults(item, at, found.now)
    if (faults.length > 0) {
      reject(invalidItem(faults))
      continue
    }
    const user = userOf(item)
    if (user === undefined) {
      reject(unknownUser)
      continue
    }
    const stored = found.events.get(item.event_id)
    if (stored) {
      const isSameTime = item.ofApp ? stored.sent_at === item.ofApp.sentAt : stored.happened_at === at
      const isSame = stored.name === item.event_name && stored.user_id === (user?.id ?? null) && isSameTime
      if (isSame) results[index] = { status: 'duplicate', id: stored.id }
      else reject(conflict)
      continue
    }
    const before = earlier.get(item.event_id)
    if (before) {
      const isSameTime = item.ofApp ? before.item.ofApp?.sentAt === item.ofApp.sentAt : before.at === at
      const isSame = before.item.event_name === item.event_name && before.user === user && isSameTime
      if (isSame) repeats.set(index, before.index)
      else reject(conflict)
      continue
    }
    const platform = item.platform ?? (user && (platforms.get(user) ?? user.platform))
    if (user && item.platform) platforms.set(user, item.platform)
    const ended = user === null ? item : withEnd(item, platform, durations)
    if (ended === null) {
      reject(invalidItem([NO_END]))
      continue
    }
    const newItem: NewItem = { index, item: ended, at, user, platform, transactionKey: transactionKey(item, platform) }
    earlier.set(item.event_id, newItem)
    newItems.push(newItem)
  }
  return { results, repeats, newItems }
}

/** The faults of one item that a schema cannot describe; empty for a valid item. `at` (the time of the event) and `now` in µs. */
function itemFaults(item: EventInput, at: number, now: number): Detail[] {
  const faults: Detail[] = []
  const fault = (field: string, message: string) => faults.push({ field, message })
  const value = eventType(item.event_name)?.value ?? 'custom'
  if (item.customer_uid !== undefined && item.identity_id !== undefined) fault('identity_id', 'is not allowed together with customer_uid')
  if (at > now + MAX_AHEAD_MS * 1000) fault('happened_at', TOO_FAR_AHEAD)
  if (item.created_at !== undefined) {
    if (item.customer_uid === undefined && item.identity_id === undefined)
      fault('created_at', 'is not allowed without customer_uid or identity_id')
    else if (micros(item.created_at) > now) fault('created_at', 'must not lie in the future')
  }
  if (item.price !== undefined) {
    if (value === 'none') fault('price', `is not allowed for ${item.event_name}`)
    else if (value !== 'out' && item.price.startsWith('-') && /[1-9]/.test(item.price)) fault('price', 'must be >= 0')
    else if (item.event_name === 'refund_reversed' && !/[1-9]/.test(item.price)) fault('price', 'must be > 0')
    if (item.currency === undefined) fault('currency', 'is required with price')
    else if (!isCurrency(item.currency.toUpperCase())) fault('currency', NO_CURRENCY)
  } else {
    if (item.currency !== undefined) fault('currency', 'is not allowed without price')
    for (const field of ['proceeds', 'price_usd', 'proceeds_usd'] as const) {
      if (item[field] !== undefined) fault(field, 'is not allowed without price')
    }
  }
  if (item.event_name === 'product_change_planned' && item.ofApp === undefined && item.new_product_id === undefined)
    fault('new_product_id', 'is required: the product that is to come')
  return [...faults, ...transactionFaults(item, now), ...(item.ofApp ? [] : statedFaults(item))]
}

const ENDS = ['trial_expired', 'subscription_expired']
const CANCELLATIONS = ['trial_canceled', 'subscription_canceled']
const DISCOUNTED: readonly string[] = PERIOD_FACTS.filter(name => name !== 'trial_started')

/** The checks for fields that only some events have. A discount belongs to the period that a paid event begins. */
function statedFaults({ event_name: name, reason, is_voluntary, is_discounted }: EventInput): Detail[] {
  const faults: Detail[] = []
  const only = (field: string, value: unknown, names: readonly string[]) => {
    if (value !== undefined && !names.includes(name)) faults.push({ field, message: `is only allowed for ${names.join(', ')}` })
  }
  only('reason', reason, ENDS)
  only('is_voluntary', is_voluntary, CANCELLATIONS)
  only('is_discounted', is_discounted, DISCOUNTED)
  return faults
}

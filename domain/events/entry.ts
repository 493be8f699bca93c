import { orderedId } from '../../store/ids.ts'
import { partitionOf } from '../durable/log/partition.ts'
import type { Environment } from '../kernel/environment.ts'
import { eventType } from './catalogue.ts'
import type { EventInput } from './item.ts'
import { decimal, defaultProceeds, negated } from './money.ts'

/** Amounts as they are stored; all are null for an event without a price. */
type Money = {
  price: string | null
  currency: string | null
  proceeds: string | null
  priceUsd: string | null
  proceedsUsd: string | null
}

/** An item that is about to be written to the log, with its user and its amounts. `at`: the time of the event, in µs. */
export type Entry = {
  id: string
  partition: number
  item: EventInput
  at: number
  user: string | null
  platform: string | null
  transactionKey: string | null
  /** False: the event starts no automation and no delivery. */
  triggers: boolean
  money: Money
  /** The purchase that emits the event; 0 for an event of an app; absent for a posted event. */
  purchase?: number
  /** Last known values of the user, for a posted event that is a transaction: they replace values that the event does not state. */
  known?: { country: string | null; app_version: string | null; locale: string | null }
}

/** In SQL: the caller's id of an event, else the event's public id. Within the log an emitted event has a key of its purchase instead. */
export const publicEventId = (event: string): string => `case when ${event}.purchase is null then ${event}.event_id else ${event}.id end`

export const NO_MONEY: Money = { price: null, currency: null, proceeds: null, priceUsd: null, proceedsUsd: null }

/** Amounts that went back are stored negative, whichever sign the item has. */
function signed(amount: string | undefined, out: boolean): string | null {
  if (amount === undefined) return null
  const text = decimal(amount)
  return out && !text.startsWith('-') ? negated(text) : text
}

function moneyOf(item: EventInput, platform: string | null): Money {
  if (item.price === undefined) return NO_MONEY
  const type = eventType(item.event_name)
  const out = type?.value === 'out'
  const price = signed(item.price, out)!
  const currency = item.currency?.toUpperCase() ?? null
  const proceeds = signed(item.proceeds, out) ?? defaultProceeds(price, platform, type?.recurring ?? false)
  const inUsd = currency === 'USD'
  return {
    price,
    currency,
    proceeds,
    priceUsd: signed(item.price_usd, out) ?? (inUsd ? price : null),
    proceedsUsd: signed(item.proceeds_usd, out) ?? (inUsd ? proceeds : null),
  }
}

/** The key of the store transaction that the event begins; the log has at most one event with this key. */
export function transactionKey(item: EventInput, platform: string | null): string | null {
  const transaction = item.ofApp ? undefined : item.transaction?.transaction_id
  return transaction !== undefined && eventType(item.event_name)?.begins ? `${platform ?? ''}:${transaction}` : null
}

/** In the column `purchase` of an event that an app has sent: no purchase emitted it, and it is no posted fact. */
const NO_PURCHASE = 0

type EntryInput = Pick<Entry, 'item' | 'at' | 'user' | 'platform' | 'transactionKey' | 'triggers'>

export const toEntry = (environment: Environment, input: EntryInput): Entry => ({
  ...input,
  id: orderedId('evt'),
  partition: partitionOf(environment, input.user ?? input.item.event_id),
  money: moneyOf(input.item, input.platform),
  ...(input.item.ofApp && { purchase: NO_PURCHASE }),
})

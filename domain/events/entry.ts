import { orderedId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { eventType } from './catalogue.ts'
import type { EventInput } from './item.ts'
import { decimal, defaultProceeds, negated } from './money.ts'
import { partitionOf } from './partition.ts'

/** Amounts as they are stored; all null on an occurrence without price. */
export type Money = {
  price: string | null
  currency: string | null
  proceeds: string | null
  priceUsd: string | null
  proceedsUsd: string | null
}

/** An item on its way into the log, with what was found out about it. `at`: when it happened, in µs. */
export type Entry = {
  id: string
  partition: number
  item: EventInput
  at: number
  user: string | null
  platform: string | null
  transactionKey: string | null
  money: Money
  /** The purchase that emits it; absent on posted ones. */
  purchase?: number
}

const NO_MONEY: Money = { price: null, currency: null, proceeds: null, priceUsd: null, proceedsUsd: null }

/** Refunds and rests are stored negative, whatever sign they came with. */
function signed(amount: string | undefined, out: boolean): string | null {
  if (amount === undefined) return null
  const plain = decimal(amount)
  return out && !plain.startsWith('-') ? negated(plain) : plain
}

function moneyOf(item: EventInput, platform: string | null): Money {
  if (item.price === undefined) return NO_MONEY
  const type = eventType(item.event_name)
  const out = type?.value === 'out'
  const price = signed(item.price, out)!
  const currency = item.currency?.toUpperCase() ?? null
  const proceeds = signed(item.proceeds, out) ?? defaultProceeds(price, platform, type)
  const inUsd = currency === 'USD'
  return {
    price,
    currency,
    proceeds,
    priceUsd: signed(item.price_usd, out) ?? (inUsd ? price : null),
    proceedsUsd: signed(item.proceeds_usd, out) ?? (inUsd ? proceeds : null),
  }
}

/** The store transaction that an event may begin once only, whatever told us of it first. */
export function transactionKey(item: EventInput, platform: string | null): string | null {
  const transaction = item.transaction?.transaction_id
  return transaction !== undefined && eventType(item.event_name)?.begins ? `${platform ?? ''}:${transaction}` : null
}

export type Known = Pick<Entry, 'item' | 'at' | 'user' | 'platform' | 'transactionKey'>

export const toEntry = (environment: Environment, known: Known): Entry => ({
  ...known,
  id: orderedId('evt'),
  partition: partitionOf(environment, known.user ?? known.item.event_id),
  money: moneyOf(known.item, known.platform),
})

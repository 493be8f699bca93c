import type { Tx } from '../../store/connect.ts'
import { eventType } from '../events/catalogue.ts'
import { type Entry, NO_MONEY, toEntry, transactionKey } from '../events/entry.ts'
import type { EventInput } from '../events/item.ts'
import { findTransactions } from '../events/look-up.ts'
import { decimal, defaultProceeds, negated, times } from '../events/money.ts'
import { appendEntries } from '../events/write.ts'
import type { Environment } from '../kernel/environment.ts'
import { HISTORY_MS } from '../kernel/limits.ts'
import { micros } from '../kernel/time/instant.ts'
import { parseTime } from './subscriptions/period.ts'
import { type PurchaseRow, shownProduct, TARGET_PLATFORM } from './subscriptions/purchase.ts'
import { isTrialPurchase } from './subscriptions/recorded.ts'

/** The events that a purchase emits at most once. */
export type OnceOnly = 'begin' | 'changed' | 'level' | 'retry' | 'still_active' | 'expired'

/**
 * A catalogue event of a purchase. `emittedAs`: its entry in the purchase's `emitted`, which lists what the log has. `id`: its id in the log, the same
 * whenever it is emitted.
 */
export type Emission = {
  purchase: PurchaseRow
  slug: string
  at: string
  emittedAs: OnceOnly | (string & {})
  id: string
  /** The sum of refunds that the log states with this event, and the sum of refunds that were taken back. */
  refundReported?: string
  takenBackReported?: string
  /** The same of credits. */
  creditReported?: string
  /** The value, without sign; `paid`: the purchase of which it is a part, by default the event's own. */
  amount?: string
  paid?: PurchaseRow
  oldProduct?: string
  /** By default the product of the purchase. */
  newProduct?: string
  /** The cause of the end of the subscription. */
  reason?: 'billing_error'
  /** False: not the customer, but another party cancelled it. */
  isVoluntary?: false | undefined
  /** When the fact of the event happened and when it was recorded; by default as the purchase itself. */
  fact?: { at: string; recorded: string }
  /** A posted event of the log states it already: `emitted` gets the entry, and nothing is appended. */
  isPosted?: true
  /** Whether the purchase begins after 365 paid days of its subscription. */
  loyal?: boolean
}

/** The purchase, the entry and the id of an event that a purchase emits at most once. */
export const emittedOnce = (purchase: PurchaseRow, emittedAs: OnceOnly): Pick<Emission, 'purchase' | 'emittedAs' | 'id'> => ({
  purchase,
  emittedAs,
  id: `${purchase.id}:${emittedAs}`,
})

/** First character of the service's event ids. Callers cannot send it, so the ids never collide with theirs. */
const OWN_PREFIX = '~'

function itemOf(emission: Emission): EventInput {
  const { purchase: p, slug, at, id, amount, paid = p, emittedAs, oldProduct, newProduct = shownProduct(p), reason, isVoluntary } = emission
  const original = p.original_transaction_id ?? p.subscription_id ?? p.purchase_token
  const transaction = p.transaction_id ?? p.order_id
  return {
    event_id: `${OWN_PREFIX}${id}`,
    event_name: slug,
    customer_uid: p.user_id!,
    happened_at: at,
    platform: TARGET_PLATFORM[p.platform],
    product_id: shownProduct(p),
    ...(oldProduct !== undefined && { old_product_id: oldProduct, new_product_id: newProduct }),
    ...(p.screen_id !== null && { screen_id: p.screen_id }),
    ...(reason !== undefined && { reason }),
    ...(isVoluntary !== undefined && { is_voluntary: isVoluntary }),
    ...(emittedAs === 'begin' && p.is_discounted && p.is_subscription && !isTrialPurchase(p) && { is_discounted: true }),
    transaction: {
      ...(transaction !== null && { transaction_id: transaction }),
      ...(original !== null && { original_transaction_id: original }),
      transaction_date: p.purchased_at,
      ...(p.expires_at !== null && { expires_at: p.expires_at }),
      ...(p.grace_period_expires_at !== null && { grace_period_expires_at: p.grace_period_expires_at }),
    },
    ...(amount !== undefined && { price: amount, currency: paid.currency }),
    ...(p.country !== null && { device: { country: p.country } }),
  }
}

type Rates = ReadonlyMap<string, string | null>
const rateKey = ({ currency, purchased_at }: PurchaseRow) => `${currency} ${purchased_at.slice(0, 10)}`

/** The rates to USD of the emissions' purchases on their days. Few purchases of a long history emit anything. */
async function ratesOf(tx: Tx, emissions: Emission[]): Promise<Rates> {
  const paid = emissions.flatMap(({ amount, purchase, paid = purchase }) => (amount === undefined ? [] : [paid]))
  if (paid.length === 0) return new Map()
  const keys = [...new Map(paid.map(one => [rateKey(one), one])).entries()]
  const { rows } = await tx.query<{ key: string; rate: string | null }>({
    name: 'rates-of-purchases',
    text: `select key, usd_rate(currency, (purchased_at at time zone 'UTC')::date)::text as rate
           from unnest($1::text[], $2::text[], $3::timestamptz[]) k(key, currency, purchased_at)`,
    values: [keys.map(([key]) => key), keys.map(([, { currency }]) => currency), keys.map(([, one]) => one.purchased_at)],
  })
  return new Map(rows.map(({ key, rate }) => [key, rate]))
}

/** All amounts have the rate of the day of the purchase. A refund has it too, so a full refund equals the payment exactly. */
function moneyOf({ purchase, slug, amount, paid = purchase, loyal }: Emission, rates: Rates): Entry['money'] {
  if (amount === undefined) return NO_MONEY
  const type = eventType(slug)
  const price = type?.value === 'out' ? negated(decimal(amount)) : decimal(amount)
  const { currency, proceeds_share: share } = paid
  const rate = rates.get(rateKey(paid)) ?? null
  const proceeds =
    share === null ? defaultProceeds(price, TARGET_PLATFORM[paid.platform], paid.is_subscription, loyal) : times(price, share)
  const usd = (value: string) => (rate === null ? null : times(value, rate))
  return { price, currency, proceeds, priceUsd: usd(price), proceedsUsd: usd(proceeds) }
}

/**
 * Whether a fact of the purchase is history when it is recorded. What was reported of a lineage before it had a user counts as recorded when it got
 * one. Stores tell the real time, also where the environment's clock runs ahead.
 */
export function isLate(p: PurchaseRow, { at, recorded }: { at: string; recorded: string }, clockOffsetMs: number): boolean {
  const known = Math.max(Date.parse(recorded), parseTime(p.owned_at) ?? 0) - (p.verified_at === null ? 0 : clockOffsetMs)
  return known - Date.parse(at) > HISTORY_MS
}

/**
 * Whether the event may start automations and go to integrations. The caller decides it for the purchase and for the facts that precede its
 * recording.
 */
function triggers({ purchase: p, fact }: Emission, clockOffsetMs: number): boolean {
  const { at, recorded } = fact ?? { at: p.purchased_at, recorded: p.created_at }
  const isCovered = fact === undefined || at <= p.created_at
  return (p.triggers || !isCovered) && !isLate(p, { at, recorded }, clockOffsetMs)
}

function entryOf(environment: Environment, emission: Emission, rates: Rates, clockOffsetMs: number): Entry {
  const item = itemOf(emission)
  const platform = TARGET_PLATFORM[emission.purchase.platform]
  const known = {
    item,
    at: micros(item.happened_at),
    user: emission.purchase.user_id,
    platform,
    transactionKey: transactionKey(item, platform),
    triggers: triggers(emission, clockOffsetMs),
  }
  return { ...toEntry(environment, known), money: moneyOf(emission, rates), purchase: emission.purchase.id }
}

/** Order of events at the same instant: begins first, then changes of facts, then the ends that follow from them. */
const RANK: Record<OnceOnly, number> = { begin: 0, changed: 1, level: 1, retry: 2, still_active: 3, expired: 4 }
const rank = ({ emittedAs }: Emission) => (emittedAs in RANK ? RANK[emittedAs as OnceOnly] : 2)

/**
 * Appends the events to the log, in the order of their times. This is the last statement of its transaction. An event is left out when a
 * posted event has the same (platform, transaction id). `clockOffsetMs`: how far the environment's clock runs ahead.
 */
export async function emit(tx: Tx, environment: Environment, emissions: Emission[], clockOffsetMs: number): Promise<void> {
  const unposted = emissions.filter(({ isPosted }) => !isPosted)
  if (unposted.length === 0) return
  const sorted = unposted.sort((a, b) => (a.at === b.at ? rank(a) - rank(b) : a.at < b.at ? -1 : 1))
  const rates = await ratesOf(tx, sorted)
  const entries = sorted.map(emission => entryOf(environment, emission, rates, clockOffsetMs))
  const posted = await findTransactions(
    tx,
    environment,
    entries.flatMap(({ transactionKey }) => transactionKey ?? []),
  )
  const fresh = entries.filter(({ transactionKey }) => transactionKey === null || !posted.has(transactionKey))
  if (fresh.length > 0) await appendEntries(tx, environment, fresh)
}

import type { Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { eventType } from '../events/catalogue.ts'
import { type Entry, NO_MONEY, toEntry, transactionKey } from '../events/entry.ts'
import type { EventInput } from '../events/item.ts'
import { findTransactions } from '../events/look-up.ts'
import { decimal, defaultProceeds, negated, times } from '../events/money.ts'
import { appendEntries } from '../events/write.ts'
import { type PurchaseRow, shownProduct, TARGET_PLATFORM } from '../subscriptions/purchase.ts'
import { micros } from '../time/instant.ts'

/**
 * A catalogue event of a purchase. `once`: a key among the events that a purchase emits at most once. The others are emitted with each
 * change of the fact: `mark` says until the next change that auto-renew off was told, `refundTold` what was told of refunds in sum.
 * `amount`: the value, without sign.
 */
export type Emission = {
  purchase: PurchaseRow
  slug: string
  at: string
  once?: 'begin' | 'changed' | 'retry' | 'refunded' | 'still_active' | 'expired'
  mark?: 'canceled'
  refundTold?: string
  amount?: string
  oldProduct?: string
  /** When the told fact happened and when it was recorded; by default as the purchase itself. */
  fact?: { at: string; recorded: string }
  /** Whether the purchase begins after 365 paid days of its subscription. */
  loyal?: boolean
}

/** First character of the service's event ids. Callers cannot send it, so the ids never collide with theirs. */
const OWN_PREFIX = '~'

function itemOf({ purchase: p, slug, at, once, amount, oldProduct }: Emission): EventInput {
  const original = p.original_transaction_id ?? p.subscription_id ?? p.purchase_token
  const transaction = p.transaction_id ?? p.order_id
  return {
    event_id: `${OWN_PREFIX}${p.id}:${once ?? orderedId(slug)}`,
    event_name: slug,
    customer_uid: p.user_id!,
    happened_at: at,
    platform: TARGET_PLATFORM[p.platform],
    product_id: shownProduct(p),
    ...(oldProduct !== undefined && { old_product_id: oldProduct, new_product_id: shownProduct(p) }),
    ...(p.screen_id !== null && { screen_id: p.screen_id }),
    transaction: {
      ...(transaction !== null && { transaction_id: transaction }),
      ...(original !== null && { original_transaction_id: original }),
      transaction_date: p.purchased_at,
      ...(p.expires_at !== null && { expires_at: p.expires_at }),
      ...(p.grace_period_expires_at !== null && { grace_period_expires_at: p.grace_period_expires_at }),
    },
    ...(amount !== undefined && { price: amount, currency: p.currency }),
    ...(p.country !== null && { device: { country: p.country } }),
  }
}

/** All amounts have the rate of the day of the purchase. A refund has it too, so a full refund equals the payment exactly. */
function moneyOf({ purchase, slug, amount, loyal }: Emission): Entry['money'] {
  if (amount === undefined) return NO_MONEY
  const type = eventType(slug)
  const price = type?.value === 'out' ? negated(decimal(amount)) : decimal(amount)
  const proceeds = defaultProceeds(price, TARGET_PLATFORM[purchase.platform], purchase.is_subscription, loyal)
  const { currency, rate } = purchase
  const usd = (value: string) => (rate === null ? null : times(value, rate))
  return { price, currency, proceeds, priceUsd: usd(price), proceedsUsd: usd(proceeds) }
}

/** A fact that is older than this when it is recorded is history: it is stored, and nobody acts on it. */
const HISTORY_MS = 72 * 3_600_000

/** Whether the event may start automations and go to integrations. The caller's word covers the purchase and the facts that precede its recording. */
function triggers({ purchase: p, fact }: Emission): boolean {
  const { at, recorded } = fact ?? { at: p.purchased_at, recorded: p.created_at }
  const isCovered = fact === undefined || at <= p.created_at
  return (p.triggers || !isCovered) && Date.parse(recorded) - Date.parse(at) <= HISTORY_MS
}

function entryOf(environment: Environment, emission: Emission): Entry {
  const item = itemOf(emission)
  const platform = TARGET_PLATFORM[emission.purchase.platform]
  const known = {
    item,
    at: micros(item.happened_at),
    user: emission.purchase.user_id,
    platform,
    transactionKey: transactionKey(item, platform),
    triggers: triggers(emission),
  }
  return { ...toEntry(environment, known), money: moneyOf(emission), purchase: emission.purchase.id }
}

/** Order of events at the same instant: begins first, then changes of facts, then the ends that follow from them. */
const RANK = { begin: 0, changed: 1, retry: 2, refunded: 2, still_active: 3, expired: 4 }
const rank = ({ once }: Emission) => (once ? RANK[once] : 2)

/**
 * Appends the events to the log, in the order of their times. This is the last statement of its transaction. An event is left out when a
 * posted event has the same (platform, transaction id).
 */
export async function emit(tx: Tx, environment: Environment, emissions: Emission[]): Promise<void> {
  if (emissions.length === 0) return
  const sorted = [...emissions].sort((a, b) => (a.at === b.at ? rank(a) - rank(b) : a.at < b.at ? -1 : 1))
  const entries = sorted.map(emission => entryOf(environment, emission))
  const posted = await findTransactions(
    tx,
    environment,
    entries.flatMap(({ transactionKey }) => transactionKey ?? []),
  )
  const fresh = entries.filter(({ transactionKey }) => transactionKey === null || !posted.has(transactionKey))
  if (fresh.length > 0) await appendEntries(tx, environment, fresh)
}

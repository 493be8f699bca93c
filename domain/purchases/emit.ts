import type { Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { eventType } from '../events/catalogue.ts'
import { type Entry, toEntry, transactionKey } from '../events/entry.ts'
import type { EventInput } from '../events/item.ts'
import { findTransactions } from '../events/look-up.ts'
import { decimal, defaultProceeds, negated, times } from '../events/money.ts'
import { appendEntries } from '../events/write.ts'
import { type PurchaseRow, shownProduct, TARGET_PLATFORM } from '../subscriptions/purchase.ts'
import { micros } from '../time/instant.ts'

/**
 * A catalogue event of a purchase. `once`: its name among the purchase's events that are emitted at most once; the others (auto-renew
 * switched off, billing retry, refund) come with each change of the fact. `amount`: the value, without sign.
 */
export type Emission = {
  purchase: PurchaseRow
  slug: string
  at: string
  once?: 'begin' | 'changed' | 'still_active' | 'expired'
  amount?: string
  oldProduct?: string
  /** Begins after 365 paid days of its subscription. */
  loyal?: boolean
}

/** No caller can send an event id with this character: what the service emits has names of its own. */
const OWN = '~'

function itemOf({ purchase: p, slug, at, once, amount, oldProduct }: Emission): EventInput {
  const original = p.original_transaction_id ?? p.subscription_id ?? p.purchase_token
  const transaction = p.transaction_id ?? p.order_id
  return {
    event_id: `${OWN}${p.id}:${once ?? orderedId(slug)}`,
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

/** The amounts at the rate of the day of the purchase, refunds too: so a full refund cancels exactly. */
function moneyOf({ purchase, slug, amount, loyal }: Emission): Entry['money'] {
  if (amount === undefined) return { price: null, currency: null, proceeds: null, priceUsd: null, proceedsUsd: null }
  const type = eventType(slug)
  const price = type?.value === 'out' ? negated(decimal(amount)) : decimal(amount)
  const proceeds = defaultProceeds(price, TARGET_PLATFORM[purchase.platform], type, loyal)
  const { currency, rate } = purchase
  const usd = (value: string) => (rate === null ? null : times(value, rate))
  return { price, currency, proceeds, priceUsd: usd(price), proceedsUsd: usd(proceeds) }
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
  }
  return { ...toEntry(environment, known), money: moneyOf(emission), purchase: emission.purchase.id }
}

/** Of one instant: what begins comes first, what the change of a fact says next, the end that follows from it last. */
const RANK = { begin: 0, changed: 1, still_active: 3, expired: 4 }
const rank = ({ once }: Emission) => (once ? RANK[once] : 2)

/**
 * Appends the events to the log, in the order in which they happened; the last statement of its transaction. A beginning that was
 * posted before, with the same (platform, transaction id), is told already: it is left out.
 */
export async function emit(tx: Tx, environment: Environment, emissions: Emission[]): Promise<void> {
  if (emissions.length === 0) return
  const sorted = [...emissions].sort((a, b) => (a.at === b.at ? rank(a) - rank(b) : a.at < b.at ? -1 : 1))
  const entries = sorted.map(emission => entryOf(environment, emission))
  const told = await findTransactions(
    tx,
    environment,
    entries.flatMap(({ transactionKey }) => transactionKey ?? []),
  )
  const fresh = entries.filter(({ transactionKey }) => transactionKey === null || !told.has(transactionKey))
  if (fresh.length > 0) await appendEntries(tx, environment, fresh, true)
}

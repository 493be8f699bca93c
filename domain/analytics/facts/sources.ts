import { areDefaultProceeds, times } from '../../events/money.ts'
import { scaled } from '../../kernel/decimal.ts'
import type { FoldedPurchase } from '../../purchases/subscriptions/folded-purchase.ts'
import type { KnownPeriod } from '../../purchases/subscriptions/lineages.ts'
import type { PostedFact } from '../../purchases/subscriptions/posted.ts'
import { recordedAt, TARGET_PLATFORM } from '../../purchases/subscriptions/purchase.ts'
import type { KnownTraits } from './rows.ts'
import type { Origin, PostedTransaction, UserHistory } from './user-history.ts'

export const seconds = (ms: number): number => Math.floor(ms / 1000)
const DAY_MS = 86_400_000
export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS)

/** Millionths. Throws a RangeError for an amount that no column can hold. */
export function millionths(amount: string): bigint {
  const value = scaled(amount, 6)
  if (BigInt.asIntN(64, value) !== value) throw new RangeError(`${amount} is larger than a fact can hold`)
  return value
}

/**
 * The fields that a recorded purchase and a posted event have in common, about the transaction behind a fact. Amounts are in millionths and
 * not negative.
 */
export type Source = KnownTraits & {
  platform: string | null
  product: string | null
  currency: string | null
  amount: bigint
  proceeds: bigint | null
  usdGiven: bigint | null
  proceedsUsd: bigint | null
  screen: string | null
  /** ms */
  recorded: number
  purchase: number | null
  event: string | null
}

const known = (own: string | null, recorded: string | null, first: string | null) => own || recorded || first || null
const positive = (value: bigint) => (value < 0n ? -value : value)

export function sourceOfPurchase(purchase: FoldedPurchase, user: Origin): Source {
  const { base_plan_id: plan } = purchase
  const platform = TARGET_PLATFORM[purchase.platform]
  return {
    platform,
    product: [platform, purchase.store_product_id, ...(plan === null ? [] : [plan])].join('|'),
    currency: purchase.currency,
    amount: millionths(purchase.amount),
    // The share that the store states. Otherwise the share that is configured at the time of the question counts.
    proceeds: purchase.proceeds_share === null ? null : millionths(times(purchase.amount, purchase.proceeds_share)),
    usdGiven: null,
    proceedsUsd: null,
    screen: purchase.screen_id,
    country: known(purchase.country, purchase.known_country, user.country),
    app_version: known(null, purchase.known_app_version, user.app_version),
    locale: known(null, purchase.known_locale, user.locale),
    recorded: Date.parse(purchase.created_at),
    purchase: purchase.id,
    event: null,
  }
}

/** Google's products are posted as `product:base plan`. */
const postedProduct = ({ platform, product_id }: PostedTransaction): string | null =>
  product_id === null ? null : [platform ?? '', platform === 'Android' ? product_id.replace(':', '|') : product_id].join('|')

/**
 * `isRecurring`: of a subscription. Proceeds that equal a default share are not stated: the share that is configured at the time of the
 * question counts. If a caller states no share, the log has the share of a transaction that is not loyal.
 */
export function sourceOfEvent(
  event: PostedTransaction,
  user: Origin,
  { isRecurring, isLoyal }: { isRecurring: boolean; isLoyal: boolean },
): Source {
  const price = event.price ?? '0'
  const isDefault = (loyal: boolean) =>
    areDefaultProceeds(event.proceeds!, price, { platform: event.platform, recurring: isRecurring, loyal })
  const isStated = event.proceeds !== null && !isDefault(false) && !(isLoyal && isDefault(true))
  const inUsd = event.currency === 'USD'
  const amountOf = (text: string | null) => (text === null ? null : positive(millionths(text)))
  return {
    platform: event.platform,
    product: postedProduct(event),
    currency: event.currency,
    amount: amountOf(price)!,
    proceeds: isStated ? amountOf(event.proceeds) : null,
    usdGiven: inUsd ? null : amountOf(event.price_usd),
    proceedsUsd: inUsd || !isStated ? null : amountOf(event.proceeds_usd),
    screen: event.screen_id,
    country: known(event.country, event.known_country, user.country),
    app_version: known(event.app_version, event.known_app_version, user.app_version),
    locale: known(event.locale, event.known_locale, user.locale),
    recorded: event.recorded,
    purchase: null,
    event: event.id,
  }
}

/**
 * The sources of a user's purchases and of the periods of the subscriptions. Each is computed once: transactions and changes need the same
 * ones. `eventOf`: the event of a posted period.
 */
export type Sources = {
  ofPurchase: (purchase: FoldedPurchase) => Source
  ofPeriod: (period: KnownPeriod) => Source
  eventOf: (fact: PostedFact) => PostedTransaction
}

export function sourcesOf({ user, transactions }: Pick<UserHistory, 'user' | 'transactions'>): Sources {
  const events = new Map(transactions.map(event => [event.id, event]))
  const sources = new Map<FoldedPurchase | PostedTransaction, Source>()
  function once<T extends FoldedPurchase | PostedTransaction>(of: T, compute: (of: T) => Source): Source {
    const found = sources.get(of)
    if (found) return found
    const source = compute(of)
    sources.set(of, source)
    return source
  }
  const ofPurchase = (purchase: FoldedPurchase) => once(purchase, one => sourceOfPurchase(one, user))
  function eventOf({ id }: PostedFact): PostedTransaction {
    const event = events.get(id)
    if (!event) throw new Error('the event of a period was not read')
    return event
  }
  function ofPeriod(period: KnownPeriod): Source {
    if (period.purchase) return ofPurchase(period.purchase)
    return once(eventOf(period.fact), one => sourceOfEvent(one, user, { isRecurring: true, isLoyal: false }))
  }
  return { ofPurchase, ofPeriod, eventOf }
}

/** When the purchase or event behind the period was changed last, in ms. */
export const changedAt = ({ purchase, fact }: KnownPeriod): number => (purchase ? Date.parse(recordedAt(purchase)) : fact.recorded)

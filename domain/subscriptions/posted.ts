import type { Tx } from '../../store/connect.ts'
import { scaled } from '../decimal.ts'
import type { Environment } from '../environment.ts'
import { slugsSql } from '../events/catalogue.ts'
import type { Entry } from '../events/entry.ts'
import type { Period } from './period.ts'
import { POSTED_PRICE, REFUND_FACTS } from './posted-price.ts'

/** A posted catalogue event about a subscription; times in ms. */
export type PostedFact = {
  user_id: string
  platform: string | null
  lineage: string
  product: string | null
  name: string
  at: number
  begins: number
  expires: number | null
  grace: number | null
  transaction: string | null
  /** The product that a planned change names. */
  planned: string | null
  /** Millionths of the currency, without sign; null: not stated. */
  amount: bigint | null
  discounted: boolean
  /** When the event was stored. */
  recorded: number
  id: string
}

/** Posted events that are a transaction: a payment when they have an amount, else a trial. */
export const TRANSACTION_FACTS = [
  'trial_started',
  'trial_converted',
  'subscription_started',
  'subscription_renewed',
  'in_app_purchase',
] as const
/** Posted events that begin a period. */
export const PERIOD_FACTS = ['trial_started', 'trial_converted', 'subscription_started', 'subscription_renewed'] as const

/** Names of the events about a subscription's periods. */
const SUBSCRIPTION_FACTS = [
  'trial_started',
  'trial_converted',
  'trial_canceled',
  'trial_uncanceled',
  'trial_billing_retry_entered',
  'trial_expired',
  'subscription_started',
  'subscription_renewed',
  'subscription_canceled',
  'subscription_uncanceled',
  'subscription_billing_retry_entered',
  'subscription_expired',
  'subscription_refunded',
  'refund_reversed',
  'subscription_paused',
  'subscription_resumed',
  'product_change_planned',
  'product_change_withdrawn',
] as const
const subscriptionFacts = new Set<string>(SUBSCRIPTION_FACTS)
export const isSubscriptionFact = ({ name }: { name: string }): boolean => subscriptionFacts.has(name)

/** All names of posted facts. */
export const POSTED_FACTS = [...new Set<string>([...SUBSCRIPTION_FACTS, ...TRANSACTION_FACTS, ...REFUND_FACTS])]
const factNames = new Set(POSTED_FACTS)

/** Whether a posted event changes the subscriptions or the payments of its user. */
export const isFact = ({ item, user, purchase }: Entry): boolean =>
  user !== null && purchase === undefined && factNames.has(item.event_name)

/** SQL: the store of an event's platform. */
export const STORE_OF = (platform: string) =>
  `case ${platform} when 'iOS' then 'app_store' when 'Android' then 'play_store' when 'Stripe' then 'stripe' when 'Paddle' then 'paddle' end`

// Without statistics a plan may take any index of the environment for as good as that of the user or of the transaction, and read all of it. Only
// one index has the order of each of these ranges.

/** SQL: the posted events of a user with one of these names. */
export const postedOf = (user: string, names: readonly string[]): string =>
  `(select * from events where environment = $1 and user_id >= ${user} and user_id <= ${user} and purchase is null
      and name in (${slugsSql(names)}) order by user_id, happened_at)`

/** SQL: whether no recorded purchase has the same (platform, transaction id) as the event `e`. If one has, only the purchase counts. */
export const NOT_SUPERSEDED = `((select 1 from purchases where environment = $1 limit 1) is null or (
    select 1 from purchases sp where sp.environment = $1 and sp.platform = ${STORE_OF('e.platform')}
      and coalesce(sp.transaction_id, sp.order_id) >= e.transaction_id and coalesce(sp.transaction_id, sp.order_id) <= e.transaction_id
    order by coalesce(sp.transaction_id, sp.order_id) limit 1) is null)`

const epoch = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`

/** SQL: the lineage of the event `e`. Without any id, a user has one subscription per product. */
export const LINEAGE_OF = `coalesce(e.original_transaction_id, e.transaction_id, 'product ' || e.product_id, '')`

/** The columns of a `PostedFact`, of the event `e`; its amount as a text. */
export const POSTED_COLUMNS = `e.user_id, e.platform, ${LINEAGE_OF} as lineage,
  e.product_id as product, e.name,
  ${epoch('e.happened_at')} as at, ${epoch('coalesce(e.transaction_date, e.happened_at)')} as begins,
  ${epoch('e.transaction_expires_at')} as expires, ${epoch('e.grace_period_expires_at')} as grace, e.transaction_id as transaction,
  e.new_product_id as planned, coalesce(e.is_discounted, false) as discounted,
  abs(${POSTED_PRICE})::text as amount, ${epoch('e.received_at')} as recorded, e.id`

export type PostedRow = Omit<PostedFact, 'amount'> & { amount: string | null }
export const postedFact = <Row extends PostedRow>(row: Row) => ({ ...row, amount: row.amount === null ? null : scaled(row.amount, 6) })

/** The posted events about the users' subscriptions, without those that a recorded purchase supersedes. */
export async function postedFacts(tx: Tx, environment: Environment, users: string[]): Promise<PostedFact[]> {
  const { rows } = await tx.query<PostedRow>({
    name: 'posted-facts',
    text: `select ${POSTED_COLUMNS}
           from unnest($2::text[]) k(user_id) cross join lateral ${postedOf('k.user_id', SUBSCRIPTION_FACTS)} e where ${NOT_SUPERSEDED}`,
    values: [environment, users],
  })
  return rows.map(postedFact)
}

/**
 * `givenUpAt`: when a posted expiry ended billing retry, and with it auto-renew, which nobody had switched off. `back`: what went back of the
 * amount. `refunds`: the ids of the refunds that name no transaction and are about this period.
 */
export type PostedPeriod = Period & {
  fact: PostedFact
  transaction: string | null
  amount: bigint | null
  givenUpAt: number | null
  back: bigint
  refunds: string[]
  isPaused: boolean
  plannedProduct: string | null
}

/** An amount decides. Without one it is not known, and the name does. */
const isTrial = ({ name, amount, discounted }: PostedFact): boolean => name === 'trial_started' || (amount === 0n && !discounted)

const refunds = new Set<string>(REFUND_FACTS)
const isRefund = ({ name }: PostedFact): boolean => refunds.has(name)

const BEGINS = new Set<string>(PERIOD_FACTS)
export const beginsPeriod = ({ name }: { name: string }): boolean => BEGINS.has(name)

const least = (a: bigint, b: bigint) => (a < b ? a : b)

/** Several refunds of one period add up. One without an amount is of all that is left; one that is taken back without an amount, of all refunds. */
function applyRefund(period: PostedPeriod, { id, name, at, amount, transaction }: PostedFact): void {
  if (transaction === null) period.refunds.push(id)
  const isReversed = name === 'refund_reversed'
  if (period.amount === null) {
    period.refundedAt = isReversed ? null : at
    return
  }
  const left = period.amount - period.back
  period.back += isReversed ? -least(amount ?? period.back, period.back) : least(amount ?? left, left)
  period.refundedAt = period.back < period.amount ? null : (period.refundedAt ?? at)
}

function applyFact(period: PostedPeriod, fact: PostedFact): void {
  const { name, at, grace, planned } = fact
  switch (name) {
    case 'trial_canceled':
    case 'subscription_canceled':
      if (!period.autoRenewing) break
      period.autoRenewing = false
      period.autoRenewOffAt = at
      period.autoRenewChanges.push(at)
      break
    case 'trial_uncanceled':
    case 'subscription_uncanceled':
      if (period.autoRenewing) break
      period.autoRenewing = true
      period.autoRenewOffAt = null
      period.autoRenewChanges.push(at)
      break
    case 'trial_billing_retry_entered':
    case 'subscription_billing_retry_entered':
      period.retryAt = at
      period.graceUntil = grace
      break
    case 'trial_expired':
    case 'subscription_expired':
      period.expires = Math.min(period.expires ?? at, at)
      period.endStated = true
      if (period.retryAt !== null && period.retryAt < at) period.givenUpAt = at
      else period.retryAt = null
      break
    case 'subscription_paused':
    case 'subscription_resumed':
      period.isPaused = name === 'subscription_paused'
      break
    case 'product_change_planned':
    case 'product_change_withdrawn':
      period.plannedProduct = name === 'product_change_planned' ? planned : null
      break
    default:
      applyRefund(period, fact)
  }
}

/**
 * The periods of one lineage's events. An event changes the period of its transaction, else the last period that had begun at the time
 * of the event; a refund of an unknown transaction changes none. An event without such a period is ignored.
 */
export function postedPeriods(facts: PostedFact[]): PostedPeriod[] {
  const periods: PostedPeriod[] = facts
    .filter(({ name }) => BEGINS.has(name))
    .map(fact => ({
      fact,
      begins: fact.begins,
      expires: fact.expires !== null && fact.expires > fact.begins ? fact.expires : null,
      trial: isTrial(fact),
      paid: !isTrial(fact),
      autoRenewing: true,
      autoRenewOffAt: null,
      autoRenewChanges: [],
      offCause: null,
      isNewBuy: false,
      retryAt: null,
      graceUntil: null,
      refundedAt: null,
      endStated: false,
      statedUntil: null,
      transaction: fact.transaction,
      amount: fact.amount,
      givenUpAt: null,
      back: 0n,
      refunds: [],
      isPaused: false,
      plannedProduct: null,
    }))
    .sort((a, b) => a.begins - b.begins)
  // The first of several with one transaction is found: the last entry of a map wins.
  const byTransaction = new Map(periods.map(period => [period.transaction, period] as const).reverse())
  let begun = 0
  for (const fact of facts.filter(({ name }) => !BEGINS.has(name)).sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))) {
    while (begun < periods.length && periods[begun]!.begins <= fact.at) begun++
    const named = fact.transaction === null ? undefined : byTransaction.get(fact.transaction)
    const isOfAnother = fact.transaction !== null && isRefund(fact)
    const period = named ?? (isOfAnother ? undefined : periods[begun - 1])
    if (period) applyFact(period, fact)
  }
  return periods.map(billed)
}

/** The store charged no longer: billing retry, and a grace period with it, ended then. After a full refund there is no billing retry. */
function billed(period: PostedPeriod): PostedPeriod {
  const { givenUpAt: at, graceUntil, refundedAt, autoRenewOffAt } = period
  if (at === null) return period
  if (refundedAt !== null) return { ...period, retryAt: null }
  const ended = { ...period, graceUntil: graceUntil && Math.min(graceUntil, at), autoRenewing: false }
  if (autoRenewOffAt !== null) return { ...ended, givenUpAt: null }
  return { ...ended, autoRenewOffAt: at, offCause: 'billing_error', autoRenewChanges: [...period.autoRenewChanges, at] }
}

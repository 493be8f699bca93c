import { flatMapInSteps } from '../../kernel/in-steps.ts'
import type { Subscription } from '../../purchases/subscriptions/lineages.ts'
import { type Anchors, anchorsOf, isPaid, relationsOf, type TransactionRelation } from './anchors.ts'
import { changesOf } from './changes.ts'
import { furtherParts, statedParts } from './refunds.ts'
import type { Attribution, Facts, SubscriptionChange, TransactionFact, UserFact } from './rows.ts'
import { screensOf } from './screens.ts'
import { dayOf, type Sources, seconds, sourcesOf } from './sources.ts'
import { type Transaction, transactionsOf } from './transactions.ts'
import { type Origin, subscriptionsOfHistory, type UserHistory } from './user-history.ts'

const RANK = { trial: 0, start: 1, conversion: 1, renewal: 2, one_time: 3 }
/** Sorts by time, then by content: the order in which facts arrived must not matter. */
const inOrder = (a: Transaction, b: Transaction) => a.at - b.at || RANK[a.kind] - RANK[b.kind] || (keyOf(a) < keyOf(b) ? -1 : 1)
const keyOf = ({ source }: Transaction) =>
  `${source.platform}|${source.product}|${source.currency}|${source.amount}|${source.purchase ?? source.event}`

/**
 * The facts of one user, from everything that is known of the user. Access, status and figures share the same state machine
 * (`domain/purchases/subscriptions`). A change of these rules raises FOLD_VERSION. Throws a RangeError for an amount that no fact can hold.
 */
export async function foldHistory(history: UserHistory): Promise<Facts> {
  const { user } = history
  const subscriptions = await subscriptionsOfHistory(history)
  const sources = sourcesOf(history)
  const transactions = (await transactionsOf(history, subscriptions, sources)).sort(inOrder)
  const anchors = anchorsOf(user.created, transactions)
  const relations = relationsOf(transactions, anchors)
  const screens = screensOf(transactions, history.screens)
  const attribution: Attribution = { media: user.media, campaign: user.campaign }
  const rows = await flatMapInSteps(transactions, transaction => {
    const fact = factOf(transaction, screens.get(transaction) ?? null, { ...relations.get(transaction)!, attribution, anchors })
    return [fact, ...refundsOf(transaction, fact), ...creditsOf(transaction, fact)]
  })
  return {
    user: userOf(user, anchors, transactions),
    transactions: rows,
    changes: await changesOfAll(subscriptions, attribution, sources),
  }
}

async function changesOfAll(subscriptions: Subscription[], attribution: Attribution, sources: Sources): Promise<SubscriptionChange[]> {
  const changes: SubscriptionChange[][] = []
  for (const subscription of subscriptions) changes.push(await changesOf(subscription, attribution, sources.ofPeriod))
  return changes.flat()
}

type OfUser = TransactionRelation & { attribution: Attribution; anchors: Anchors }

function factOf(transaction: Transaction, screen: string | null, { firsts, paidBefore, attribution, anchors }: OfUser): TransactionFact {
  const { kind, at, source, isLoyal, period, convertedAt, cancelledAt, refunds } = transaction
  const back = refunds.reduce((sum, { amount }) => sum + amount, 0n)
  const parts = back > 0n ? statedParts(source, back) : null
  const secondsOf = (ms: number | null) => (ms === null ? null : seconds(ms))
  return {
    kind,
    happened: seconds(at),
    bought_on: dayOf(at),
    media: attribution.media,
    campaign: attribution.campaign,
    platform: source.platform,
    product: source.product,
    currency: source.currency,
    country: source.country,
    app_version: source.app_version,
    locale: source.locale,
    screen,
    amount: source.amount,
    proceeds: source.proceeds,
    usd_given: source.usdGiven,
    proceeds_usd: source.proceedsUsd,
    is_loyal: isLoyal,
    subscription: period?.subscription ?? null,
    ends: secondsOf(period?.ends ?? null),
    open_until: secondsOf(period?.openUntil ?? null),
    converted_at: secondsOf(convertedAt),
    cancelled_at: secondsOf(cancelledAt),
    refunded_at: back > 0n ? seconds(refunds[0]!.at) : null,
    refunded: back > 0n ? back : null,
    refunded_proceeds: parts?.proceeds ?? null,
    refunded_usd: parts?.usd_given ?? null,
    paid_before: paidBefore,
    renewal: period?.renewal ?? null,
    firsts,
    created: anchors.created,
    first_trial_or_paid: anchors.first_trial_or_paid,
    first_paid: anchors.first_paid,
    recorded: seconds(source.recorded),
    purchase: source.purchase,
    event: source.event,
  }
}

const NOTHING_FOLLOWED = {
  ends: null,
  open_until: null,
  converted_at: null,
  cancelled_at: null,
  refunded_at: null,
  refunded: null,
  refunded_proceeds: null,
  refunded_usd: null,
  paid_before: null,
  renewal: null,
  firsts: 0,
}

/** One row per refund: with the attributes, the screen, the rate and the share of its transaction. */
function refundsOf({ source, refunds }: Transaction, fact: TransactionFact): TransactionFact[] {
  let back = 0n
  return refunds.map(({ at, amount, recorded, event }) => {
    const before = back
    back += amount
    return {
      ...fact,
      ...NOTHING_FOLLOWED,
      kind: 'refund',
      happened: seconds(at),
      amount,
      ...furtherParts(source, before, back),
      recorded: seconds(recorded),
      event: event ?? fact.event,
    }
  })
}

const negative = (value: bigint | null): bigint | null => (value === null ? null : -value)

/** One row per credit: as a refund, but with negative amounts, in the renewal of its transaction. It reduces what was paid, and is no refund. */
function creditsOf({ source, credits }: Transaction, fact: TransactionFact): TransactionFact[] {
  let back = 0n
  return credits.map(({ at, amount, recorded }) => {
    const before = back
    back += amount
    const { proceeds, usd_given, proceeds_usd } = furtherParts(source, before, back)
    return {
      ...fact,
      ...NOTHING_FOLLOWED,
      kind: 'credit',
      happened: seconds(at),
      amount: -amount,
      proceeds: negative(proceeds),
      usd_given: negative(usd_given),
      proceeds_usd: negative(proceeds_usd),
      renewal: fact.renewal,
      recorded: seconds(recorded),
    }
  })
}

function userOf(user: Origin, anchors: Anchors, transactions: Transaction[]): UserFact {
  const firstSource = transactions.find(transaction => transaction.kind === 'trial' || isPaid(transaction))?.source
  return {
    ...anchors,
    platform: user.platform,
    country: user.country,
    app_version: user.app_version,
    locale: user.locale,
    media: user.media,
    campaign: user.campaign,
    ad_set: user.ad_set,
    ad: user.ad,
    class_platform: firstSource?.platform ?? null,
    class_product: firstSource?.product ?? null,
    class_currency: firstSource?.currency ?? null,
    class_country: firstSource?.country ?? null,
    class_app_version: firstSource?.app_version ?? null,
    class_locale: firstSource?.locale ?? null,
  }
}

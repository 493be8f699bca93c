// A plan as the requests that a caller makes, in the order in which the service receives them.
import type { Statement } from '../../oracle/heard.ts'
import { HOUR, type Instant, type Store } from '../../oracle/history.ts'
import type { Known, PeriodPlan, Plan, Refunded, SalePlan, SightPlan, SubscriptionPlan, Way } from './plans.ts'

type Body = Record<string, unknown>
/** Statements that keep their order, with the time of what the first is about. */
type DatedStatements = { at: Instant; statements: Statement[] }

export const userName = (n: number): string => `user ${n}`
const iso = (at: Instant): string => `${new Date(at * 1000).toISOString().slice(0, 19)}Z`
const isEmpty = (value: unknown): boolean =>
  value === null || value === undefined || (typeof value === 'object' && Object.keys(value).length === 0)
const given = (body: Body): Body => Object.fromEntries(Object.entries(body).filter(([, value]) => !isEmpty(value)))

function storeData(store: Store, product: string, transaction: string, lineage: string | null): Body {
  switch (store) {
    case 'iOS':
      return { app_store_data: given({ transaction_id: transaction, original_transaction_id: lineage, product_id: product }) }
    case 'Android':
      return { play_store_data: { purchase_token: lineage ?? transaction, order_id: transaction, product_id: product } }
    case 'Stripe':
      return { stripe_store_data: { subscription_id: lineage!, product_id: product } }
    case 'Paddle':
      return {
        paddle_store_data: given({
          transaction_id: transaction,
          product_id: product,
          type: lineage === null ? 'non_recurring' : 'subscription',
          subscription_id: lineage,
        }),
      }
  }
}

/** A part of a price that is given in units of its smallest digit. */
function partOf(price: string, part: (units: bigint) => bigint): string {
  const [whole, decimals = ''] = price.split('.')
  const units = part(BigInt(`${whole}${decimals}`))
  const digits = String(units).padStart(decimals.length + 1, '0')
  return decimals === '' ? digits : `${digits.slice(0, -decimals.length)}.${digits.slice(-decimals.length)}`
}

/** At least one of the smallest digit. */
const halfOf = (units: bigint) => units / 2n || 1n
const half = (price: string) => partOf(price, halfOf)
const otherHalf = (price: string) => partOf(price, units => units - halfOf(units))

const refundedAt = (begin: Instant, refund: Refunded, now: Instant): Instant => Math.min(begin + refund.after, now - HOUR / 2)

function updatesOf(store: Store, transaction: string, begin: Instant, price: string, refund: Refunded | null, now: Instant): Statement[] {
  if (!refund) return []
  const at = refundedAt(begin, refund, now)
  const refunded_at = iso(at)
  const update = (body: Body): Statement => ({ is: 'update', store, transaction, body })
  const part = { refunded_at, refunded_amount: half(price) }
  if (price === '0' || refund.part === 'all') return [update({ refunded_at })]
  return refund.part === 'some' ? [update(part)] : [update(part), update({ refunded_at: iso(at + 1), refunded_amount: price })]
}

/** Of a transaction that is recorded and posted, the refund may be posted alone. */
const statedRefund = (refund: Refunded | null, way: Way): Refunded | null =>
  way === 'posted, then recorded' && refund?.isPostedAlone ? null : refund

function refundEvents(name: string, purchase: Body, begin: Instant, refund: Refunded | null, now: Instant): DatedStatements[] {
  if (!refund || purchase.price === '0' || purchase.price === undefined) return []
  const at = refundedAt(begin, refund, now)
  const { price_usd: _usd, proceeds: _proceeds, ...rest } = purchase
  const event = (n: number, price: unknown): DatedStatements => ({
    at: at + n,
    statements: [
      { is: 'event', body: { ...rest, event_id: `${purchase.event_id}:back:${n}`, event_name: name, happened_at: iso(at + n), price } },
    ],
  })
  if (refund.part === 'all') return [event(0, purchase.price)]
  const some = event(0, half(purchase.price as string))
  if (refund.part === 'some') return [some]
  // Half of one cent is all of it.
  const second = refund.part === 'twice' ? (purchase.price as string) : otherHalf(purchase.price as string)
  return /[1-9]/.test(second) ? [some, event(1, second)] : [some]
}

/** The time in force of each period that has begun. */
function datesOf(subscription: SubscriptionPlan, now: Instant): { plan: PeriodPlan; begin: Instant; expires: Instant }[] {
  let begin = now - subscription.startedAgo
  let before: Instant | undefined
  return subscription.periods.flatMap(plan => {
    // No period begins with, or before, the one before it.
    begin = before === undefined ? begin : Math.max(begin + 1, before + plan.gap)
    before = begin + plan.length
    return begin > now - HOUR ? [] : [{ plan, begin, expires: before }]
  })
}

function subscriptionStatements(subscription: SubscriptionPlan, n: number, now: Instant): DatedStatements[] {
  const { user, store } = subscription
  // Stripe's transactions have no ids that a posted event could name.
  const way = store === 'Stripe' && subscription.way !== 'posted' ? 'recorded' : subscription.way
  const lineage = `sub-${n}`
  const dates = datesOf(subscription, now)
  return dates.flatMap(({ plan: drawn, begin, expires }, i): DatedStatements[] => {
    // No purchase of a product that nothing links can be recorded.
    const plan = way !== 'posted' && drawn.product === 'not linked' ? { ...drawn, product: 'monthly' } : drawn
    const transaction = `${lineage}-${i}`
    const isFree = plan.price === '0'
    const isLast = i === dates.length - 1
    const dated: DatedStatements[] = []
    const base = {
      customer_uid: userName(user),
      platform: store,
      product_id: plan.product,
      transaction: {
        transaction_id: transaction,
        original_transaction_id: lineage,
        transaction_date: iso(begin),
        expires_at: iso(expires),
      },
    }
    if (way !== 'recorded') {
      const name = isFree
        ? 'trial_started'
        : i === 0
          ? 'subscription_started'
          : dates[i - 1]!.plan.price === '0'
            ? 'trial_converted'
            : 'subscription_renewed'
      const body = given({
        ...base,
        event_id: transaction,
        event_name: name,
        happened_at: iso(begin),
        price: isFree ? null : plan.price,
        currency: isFree ? null : plan.currency,
        screen_id: plan.screen,
        device: plan.country ? { country: plan.country } : null,
      })
      dated.push({ at: begin, statements: [{ is: 'event', body }] })
      const word = (slug: string, at: Instant, more: Body = {}): DatedStatements => ({
        at,
        statements: [
          {
            is: 'event',
            body: {
              event_id: `${transaction}:${slug}`,
              event_name: slug,
              customer_uid: userName(user),
              platform: store,
              product_id: plan.product,
              happened_at: iso(at),
              transaction: { original_transaction_id: lineage, ...more },
            },
          },
        ],
      })
      const kind = isFree ? 'trial' : 'subscription'
      if (plan.off && way === 'posted') dated.push(word(`${kind}_canceled`, Math.min(begin + plan.off.after, expires, now - HOUR / 2)))
      if (plan.retry && way === 'posted' && expires < now - HOUR) {
        const grace = plan.retry.grace === null ? {} : { grace_period_expires_at: iso(expires + plan.retry.grace) }
        dated.push(word(`${kind}_billing_retry_entered`, expires, grace))
        if (plan.retry.expired !== null && isLast && expires + plan.retry.expired < now - HOUR)
          dated.push(word(`${kind}_expired`, expires + plan.retry.expired))
      }
      dated.push(...refundEvents('subscription_refunded', body, begin, plan.refund, now))
    }
    if (way !== 'posted') {
      const isOffAtOnce = plan.off?.how === 'at once'
      const body = given({
        currency: plan.currency,
        price: plan.isFamilyShared ? '0' : plan.price,
        purchased_at: iso(begin),
        expires_at: iso(expires),
        period_type: plan.isFamilyShared ? 'normal' : plan.isIntro ? 'intro' : null,
        is_family_shared: plan.isFamilyShared || null,
        is_auto_renewing: isOffAtOnce ? false : null,
        country: plan.country,
        screen_id: plan.screen,
        ...storeData(store, plan.product, transaction, lineage),
      })
      const named = store === 'Stripe' ? `${lineage} ${iso(begin)}` : transaction
      const update = (change: Body): Statement => ({ is: 'update', store, transaction: named, body: change })
      const updates: Statement[] = []
      if (plan.off && !isOffAtOnce) updates.push(update({ is_auto_renewing: false }))
      if (plan.off?.how === 'later, and on again') updates.push(update({ is_auto_renewing: true }))
      if (plan.retry && expires < now - HOUR)
        updates.push(
          update(
            given({
              billing_retry_at: iso(expires),
              grace_period_expires_at: plan.retry.grace === null ? null : iso(expires + plan.retry.grace),
            }),
          ),
        )
      if (!plan.isFamilyShared) updates.push(...updatesOf(store, named, begin, plan.price, statedRefund(plan.refund, way), now))
      dated.push({ at: begin, statements: [{ is: 'purchase', user: userName(user), body }, ...updates] })
    }
    return dated
  })
}

function saleStatements(sale: SalePlan, n: number, now: Instant): DatedStatements[] {
  const at = now - sale.ago
  const transaction = `sale-${n}`
  const dated: DatedStatements[] = []
  if (sale.way !== 'recorded') {
    const body = given({
      event_id: transaction,
      event_name: 'in_app_purchase',
      customer_uid: userName(sale.user),
      platform: sale.store,
      product_id: sale.product,
      happened_at: iso(at),
      transaction: { transaction_id: transaction },
      price: sale.price,
      currency: sale.currency,
      proceeds: sale.stated === 'proceeds' ? half(sale.price) : null,
      price_usd: sale.stated === 'usd' ? half(sale.price) : null,
      screen_id: sale.screen,
      device: sale.country ? { country: sale.country } : null,
    })
    dated.push({ at, statements: [{ is: 'event', body }] }, ...refundEvents('in_app_refunded', body, at, sale.refund, now))
  }
  if (sale.way !== 'posted') {
    const body = given({
      currency: sale.currency,
      price: sale.price,
      purchased_at: iso(at),
      country: sale.country,
      screen_id: sale.screen,
      ...storeData(sale.store, 'coins', transaction, null),
    })
    const updates = updatesOf(sale.store, transaction, at, sale.price, statedRefund(sale.refund, sale.way), now)
    dated.push({ at, statements: [{ is: 'purchase', user: userName(sale.user), body }, ...updates] })
  }
  return dated
}

/** Values that a later arrival could contradict are the same for all of a user's facts when the arrivals are shuffled. */
function constant(known: Known, user: number): Known {
  const pick = (value: string | null, values: string[]): string | null => (value === null ? null : values[user % values.length]!)
  return {
    country: pick(known.country, ['DE', 'US', 'BR']),
    appVersion: pick(known.appVersion, ['1.0', '1.1', '2.0']),
    locale: pick(known.locale, ['de', 'en', 'pt']),
    device: pick(known.device, ['phone', 'tablet', 'phone']),
    mediaSource: known.mediaSource,
    campaign: known.campaign,
  }
}

function sightStatement(sight: SightPlan, n: number, now: Instant): DatedStatements {
  const { known } = sight
  const at = now - sight.ago
  const body = given({
    event_id: `sight-${n}`,
    event_name: sight.name,
    customer_uid: userName(sight.user),
    platform: sight.store,
    happened_at: iso(at),
    properties: sight.name.startsWith('screen') ? { screen_id: sight.screen } : null,
    device: given({ id: known.device, country: known.country, locale: known.locale }),
    app: given({ version: known.appVersion }),
    attribution: given({ media_source: known.mediaSource, campaign: known.campaign }),
  })
  return { at, statements: [{ is: 'event', body }] }
}

export function statementsOf(plan: Plan, now: Instant): Statement[] {
  const { shuffle } = plan
  const settled = (country: string | null, user: number) => (shuffle && country ? ['DE', 'US', 'BR'][user]! : country)
  const subscriptions = plan.subscriptions.map(one => ({
    ...one,
    periods: one.periods.map(period => ({ ...period, country: settled(period.country, one.user) })),
  }))
  const dated = [
    ...subscriptions.flatMap((one, n) => subscriptionStatements(one, n, now)),
    ...plan.sales.flatMap((one, n) => saleStatements({ ...one, country: settled(one.country, one.user) }, n, now)),
    ...plan.sights.map((one, n) => sightStatement(shuffle ? { ...one, known: constant(one.known, one.user) } : one, n, now)),
  ]
  const inOrder = dated.toSorted((a, b) => a.at - b.at)
  const keys = new Map(inOrder.map((one, i) => [one, shuffle?.[i % shuffle.length] ?? 0]))
  return inOrder.toSorted((a, b) => keys.get(a)! - keys.get(b)!).flatMap(one => one.statements)
}

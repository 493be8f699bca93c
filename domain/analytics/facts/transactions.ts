import { LOYAL_DAYS } from '../../events/money.ts'
import { inSteps } from '../../kernel/in-steps.ts'
import { type Link, runsOf } from '../../purchases/subscriptions/access-periods.ts'
import type { FoldedPurchase } from '../../purchases/subscriptions/folded-purchase.ts'
import type { KnownPeriod, Subscription } from '../../purchases/subscriptions/lineages.ts'
import { DAY_MS, LAST_MS } from '../../purchases/subscriptions/period.ts'
import { isRefundFact } from '../../purchases/subscriptions/posted-price.ts'
import { creditsOfPurchase, type Refund, refundsOfEvents, refundsOfPurchase } from './refunds.ts'
import type { TransactionKind } from './rows.ts'
import { type Source, type Sources, sourceOfEvent } from './sources.ts'
import type { PostedTransaction, UserHistory } from './user-history.ts'

type Run = Link<KnownPeriod>[]

/** A transaction before its relations to the user's other transactions are known; times in ms. */
export type Transaction = {
  kind: Exclude<TransactionKind, 'refund' | 'credit'>
  at: number
  source: Source
  isLoyal: boolean
  /** Of a subscription's period. */
  period: { subscription: string; ends: number; openUntil: number; trial: Transaction | null; renewal: number | null } | null
  convertedAt: number | null
  cancelledAt: number | null
  refunds: Refund[]
  /** The amount that was credited without a refund. */
  credits: Refund[]
}

export const subscriptionKey = ({ platform, lineage }: Subscription): string => `${platform}|${lineage}`

const LOYAL_MS = LOYAL_DAYS * DAY_MS

/** Since when auto-renew is off in the period, at the earliest since its begin; null: it is on. */
const switchedOffAt = ({ autoRenewing, autoRenewOffAt, begins }: KnownPeriod): number | null =>
  autoRenewing ? null : Math.max(autoRenewOffAt ?? begins, begins)

/**
 * When the run was cancelled: auto-renew off in its last period, or billing given up, which may lie in the future. A period without a next one
 * in its run ends billing retry only by the store giving up.
 */
export function cancelledAt(run: Run): number | null {
  const { period, retryUntil } = run.at(-1)!
  return switchedOffAt(period) ?? retryUntil
}

/** Of a trial by itself: auto-renew is off now, or was off at its end. Given up billing does not cancel a trial. */
const trialCancelledAt = ({ period }: Link<KnownPeriod>): number | null =>
  period.fact !== null && period.givenUpAt !== null ? null : switchedOffAt(period)

/** For each period of the run the begin of the first paid one after it; null: there is none. */
function nextPaid(run: Run): (number | null)[] {
  const found: (number | null)[] = []
  let next: number | null = null
  for (let i = run.length - 1; i >= 0; i--) {
    found[i] = next
    if (run[i]!.period.paid) next = run[i]!.period.begins
  }
  return found
}

/** `isLoyal`: the period begins after 365 paid days of its subscription. */
type Find = (period: KnownPeriod, isLoyal: boolean) => Pick<Transaction, 'source' | 'refunds' | 'credits'>

async function ofSubscription(subscription: Subscription, find: Find): Promise<Transaction[]> {
  const transactions: Transaction[] = []
  let paidMs = 0
  let isFirstPaidRun = true
  const step = inSteps()
  for (const run of runsOf(subscription.links)) {
    let paid = 0
    let trial: Transaction | null = null
    const firstPaidAfter = nextPaid(run)
    for (const [i, { period, ends, retryUntil }] of run.entries()) {
      const kind = period.trial ? 'trial' : paid > 0 ? 'renewal' : trial ? 'conversion' : 'start'
      if (period.paid) paid++
      const openUntil = Math.max(ends, retryUntil ?? ends)
      const isLoyal = paidMs >= LOYAL_MS
      const transaction: Transaction = {
        ...find(period, isLoyal),
        kind,
        at: period.begins,
        isLoyal,
        period: {
          subscription: subscriptionKey(subscription),
          ends: Math.min(ends, LAST_MS),
          openUntil: Math.min(openUntil, LAST_MS),
          trial: kind === 'conversion' ? trial : null,
          renewal: period.paid && isFirstPaidRun ? paid : null,
        },
        convertedAt: period.trial ? firstPaidAfter[i]! : null,
        cancelledAt: period.trial ? trialCancelledAt(run[i]!) : kind === 'renewal' ? null : cancelledAt(run),
      }
      if (period.trial) trial = transaction
      if (period.paid) paidMs += ends - period.begins
      transactions.push(transaction)
      await step(1)
    }
    if (paid > 0) isFirstPaidRun = false
  }
  return transactions
}

const oneTime = (at: number, source: Source, refunds: Refund[], credits: Refund[]): Transaction => ({
  kind: 'one_time',
  at,
  source,
  isLoyal: false,
  period: null,
  convertedAt: null,
  cancelledAt: null,
  refunds,
  credits,
})

const keyOf = ({ platform, transaction }: PostedTransaction) => (transaction === null ? null : JSON.stringify([platform, transaction]))

/**
 * The transactions of a user, in no order. A free one-time purchase and a family-shared purchase count nowhere; a posted refund counts only
 * when its transaction is known.
 */
export async function transactionsOf(
  { user, purchases, transactions: events }: UserHistory,
  subscriptions: Subscription[],
  sources: Sources,
): Promise<Transaction[]> {
  const refundsByKey = Map.groupBy(
    events.filter(({ name }) => isRefundFact(name)),
    event => keyOf(event) ?? event.id,
  )
  /** `unnamed`: the ids of refunds of the event that name no transaction. */
  const refundsOfEvent = (event: PostedTransaction, source: Source, unnamed: string[]): Refund[] => {
    if (refundsByKey.size === 0) return []
    const own = keyOf(event)
    const keys = own === null ? unnamed : [own, ...unnamed]
    return refundsOfEvents(
      keys.flatMap(key => refundsByKey.get(key) ?? []),
      source.amount,
    )
  }
  const ofPurchase = (purchase: FoldedPurchase) => ({
    source: sources.ofPurchase(purchase),
    refunds: refundsOfPurchase(purchase),
    credits: creditsOfPurchase(purchase),
  })
  const find: Find = (period, isLoyal) => {
    if (period.purchase) return ofPurchase(period.purchase)
    const event = sources.eventOf(period.fact)
    const source = isLoyal ? sourceOfEvent(event, user, { isRecurring: true, isLoyal }) : sources.ofPeriod(period)
    return { source, refunds: refundsOfEvent(event, source, period.refunds), credits: [] }
  }
  const ofSale = (event: PostedTransaction) => {
    const source = sourceOfEvent(event, user, { isRecurring: false, isLoyal: false })
    return { source, refunds: refundsOfEvent(event, source, []) }
  }
  const recurring: Transaction[][] = []
  for (const subscription of subscriptions) recurring.push(await ofSubscription(subscription, find))
  return [
    ...recurring.flat(),
    ...purchases
      .filter(purchase => !purchase.is_subscription && !purchase.is_family_shared)
      .map(purchase => ({ purchase, ...ofPurchase(purchase) }))
      .map(({ purchase, source, refunds, credits }) => oneTime(Date.parse(purchase.purchased_at), source, refunds, credits)),
    ...events
      .filter(({ name }) => name === 'in_app_purchase')
      .map(event => ({ event, ...ofSale(event) }))
      .map(({ event, source, refunds }) => oneTime(event.begins, source, refunds, [])),
  ].filter(({ kind, source }) => kind !== 'one_time' || source.amount > 0n)
}

import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import type { Entry } from '../events/entry.ts'
import type { Period } from './period.ts'

/** A posted catalogue event as a fact about a subscription; times in ms. */
export type Posted = {
  user_id: string
  platform: string | null
  lineage: string
  name: string
  at: number
  begins: number
  expires: number | null
  grace: number | null
  transaction: string | null
  amount: number | null
}

/** Names that say something about a subscription's periods. */
const SUBSCRIPTION_FACTS = [
  'trial_started',
  'trial_converted',
  'trial_canceled',
  'trial_billing_retry_entered',
  'trial_expired',
  'subscription_started',
  'subscription_renewed',
  'subscription_canceled',
  'subscription_billing_retry_entered',
  'subscription_expired',
  'subscription_refunded',
] as const
const names = new Set<string>(SUBSCRIPTION_FACTS)
export const isSubscriptionFact = (name: string): boolean => names.has(name)

/** The store's word for an event's platform, in SQL. */
export const STORE_OF = (platform: string) =>
  `case ${platform} when 'iOS' then 'app_store' when 'Android' then 'play_store' when 'Stripe' then 'stripe' when 'Paddle' then 'paddle' end`

/** Of an event `e`: a purchase of the same (platform, transaction id) is recorded, and that alone is the fact. */
export const SUPERSEDED = `exists (select 1 from purchases sp where sp.environment = e.environment and sp.platform = ${STORE_OF('e.platform')}
  and coalesce(sp.transaction_id, sp.order_id) = e.transaction_id)`

const epoch = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`

// offset 0: user by user. As a plain join it may read the whole environment, as long as the planner has no statistics.
/** What was posted about the users' subscriptions, without what recorded purchases tell. */
export async function postedFacts(tx: Tx, environment: Environment, users: string[]): Promise<Posted[]> {
  const { rows } = await tx.query<Posted>({
    name: 'posted-facts',
    text: `select e.user_id, e.platform, coalesce(e.original_transaction_id, e.transaction_id, '') as lineage, e.name,
             ${epoch('e.happened_at')} as at, ${epoch('coalesce(e.transaction_date, e.happened_at)')} as begins,
             ${epoch('e.transaction_expires_at')} as expires, ${epoch('e.grace_period_expires_at')} as grace,
             e.transaction_id as transaction, e.price::float8 as amount
           from unnest($2::text[]) k(user_id) cross join lateral (
             select * from events where environment = $1 and user_id = k.user_id and purchase is null
               and name in (${SUBSCRIPTION_FACTS.map(name => `'${name}'`).join(', ')}) offset 0) e
           where (select 1 from purchases where environment = $1 limit 1) is null or not ${SUPERSEDED}`,
    values: [environment, users],
  })
  return rows
}

const ms = (time: string | undefined) => (time === undefined ? null : Date.parse(time))

/** The same of an event that is about to be stored. */
export function postedFact({ item, at, user, platform }: Entry): Posted {
  const { transaction } = item
  const happened = at / 1000
  return {
    user_id: user!,
    platform,
    lineage: transaction?.original_transaction_id ?? transaction?.transaction_id ?? '',
    name: item.event_name,
    at: happened,
    begins: ms(transaction?.transaction_date) ?? happened,
    expires: ms(transaction?.expires_at),
    grace: ms(transaction?.grace_period_expires_at),
    transaction: transaction?.transaction_id ?? null,
    amount: item.price === undefined ? null : Number(item.price),
  }
}

type PostedPeriod = Period & { transaction: string | null; amount: number | null }

const BEGINS = new Set(['trial_started', 'trial_converted', 'subscription_started', 'subscription_renewed'])

function tell(period: PostedPeriod, { name, at, grace, amount }: Posted): void {
  switch (name) {
    case 'trial_canceled':
    case 'subscription_canceled':
      period.autoRenewing = false
      period.autoRenewOffAt ??= at
      break
    case 'trial_billing_retry_entered':
    case 'subscription_billing_retry_entered':
      period.retryAt = at
      period.graceUntil = grace
      break
    case 'trial_expired':
    case 'subscription_expired':
      period.expires = Math.min(period.expires ?? at, at)
      period.retryAt = null
      break
    default:
      if (amount === null || period.amount === null || Math.abs(amount) >= period.amount) period.refundedAt = at
  }
}

/**
 * The periods that one lineage's events tell of. What an event says counts for the period of its transaction, else for the last one
 * that had begun when it happened; an event about a period that nobody has posted is passed over.
 */
export function postedPeriods(facts: Posted[]): Period[] {
  const periods: PostedPeriod[] = facts
    .filter(({ name }) => BEGINS.has(name))
    .map(({ name, begins, expires, transaction, amount }) => ({
      begins,
      expires: expires !== null && expires > begins ? expires : null,
      trial: name === 'trial_started',
      paid: name !== 'trial_started',
      autoRenewing: true,
      autoRenewOffAt: null,
      retryAt: null,
      graceUntil: null,
      refundedAt: null,
      transaction,
      amount,
    }))
    .sort((a, b) => a.begins - b.begins)
  for (const fact of facts.filter(({ name }) => !BEGINS.has(name)).sort((a, b) => a.at - b.at)) {
    const named = fact.transaction === null ? undefined : periods.find(({ transaction }) => transaction === fact.transaction)
    const period = named ?? periods.findLast(({ begins }) => begins <= fact.at)
    if (period) tell(period, fact)
  }
  return periods
}

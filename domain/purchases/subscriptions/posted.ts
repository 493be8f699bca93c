import type { Tx } from '../../../store/connect.ts'
import { slugsSql } from '../../events/catalogue.ts'
import type { Entry } from '../../events/entry.ts'
import { scaled } from '../../kernel/decimal.ts'
import type { Environment } from '../../kernel/environment.ts'
import { flatMapInSteps } from '../../kernel/in-steps.ts'
import { POSTED_PRICE, REFUND_FACTS } from './posted-price.ts'

/** A posted catalogue event about a subscription; times in ms. `user_id`: who has its lineage. */
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
const BEGINS = new Set<string>(PERIOD_FACTS)
export const beginsPeriod = ({ name }: { name: string }): boolean => BEGINS.has(name)

/** Names of the events about a subscription's periods. */
export const SUBSCRIPTION_FACTS = [
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

/** SQL: the platform of a store's events. */
export const PLATFORM_OF = (store: string) =>
  `case ${store} when 'app_store' then 'iOS' when 'play_store' then 'Android' when 'stripe' then 'Stripe' when 'paddle' then 'Paddle' end`

// Without statistics a plan may take any index of the environment for as good as that of the user or of the transaction, and read all of it. Only
// one index has the order of each of these ranges.

/** SQL: the user who has the lineage of a posted event (`settleOwners`). Mostly the user who is named with it. */
export const OWNER = 'coalesce(lineage_owner, user_id)'
export const OWNER_OF = (event: string): string => `coalesce(${event}.lineage_owner, ${event}.user_id)`

/** SQL: the posted events of a user's lineages with one of these names, and those of no lineage. */
export const postedOf = (user: string, names: readonly string[]): string =>
  `(select * from events where environment = $1 and ${OWNER} >= ${user} and ${OWNER} <= ${user} and purchase is null and user_id is not null
      and name in (${slugsSql(names)}) order by ${OWNER}, happened_at)`

/** SQL: whether no recorded purchase has the same (platform, transaction id) as the event `e`. If one has, only the purchase counts. */
export const NOT_SUPERSEDED = `((select 1 from purchases where environment = $1 limit 1) is null or (
    select 1 from purchases sp where sp.environment = $1 and sp.platform = ${STORE_OF('e.platform')}
      and coalesce(sp.transaction_id, sp.order_id) >= e.transaction_id and coalesce(sp.transaction_id, sp.order_id) <= e.transaction_id
    order by coalesce(sp.transaction_id, sp.order_id) limit 1) is null)`

const epoch = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`

/** SQL: the lineage of the event `e`. Without any id, a user has one subscription per product. */
export const LINEAGE_OF = `coalesce(e.original_transaction_id, e.transaction_id, 'product ' || e.product_id, '')`

/** The columns of a `PostedFact`, of the event `e`; its amount as a text. */
export const POSTED_COLUMNS = `${OWNER_OF('e')} as user_id, e.platform, ${LINEAGE_OF} as lineage,
  e.product_id as product, e.name,
  ${epoch('e.happened_at')} as at, ${epoch('coalesce(e.transaction_date, e.happened_at)')} as begins,
  ${epoch('e.transaction_expires_at')} as expires, ${epoch('e.grace_period_expires_at')} as grace, e.transaction_id as transaction,
  e.new_product_id as planned, coalesce(e.is_discounted, false) as discounted,
  abs(${POSTED_PRICE})::text as amount, ${epoch('e.received_at')} as recorded, e.id`

export type PostedRow = Omit<PostedFact, 'amount'> & { amount: string | null }
/** In place: a user may have tens of thousands of rows. */
export const postedFact = <Row extends PostedRow>(row: Row) =>
  Object.assign(row, { amount: row.amount === null ? null : scaled(row.amount, 6) })

/** The posted events about the users' subscriptions, without those that a recorded purchase supersedes. */
export async function postedFacts(tx: Tx, environment: Environment, users: string[]): Promise<PostedFact[]> {
  const { rows } = await tx.query<PostedRow>({
    name: 'posted-facts',
    text: `select ${POSTED_COLUMNS}
           from unnest($2::text[]) k(user_id) cross join lateral ${postedOf('k.user_id', SUBSCRIPTION_FACTS)} e where ${NOT_SUPERSEDED}`,
    values: [environment, users],
  })
  return flatMapInSteps(rows, postedFact)
}

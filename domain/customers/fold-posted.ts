import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import type { Entry } from '../events/entry.ts'
import { subscriptionsOf } from '../subscriptions/lineages.ts'
import { isSubscriptionFact, postedFact, postedFacts, REFUND_FACTS, STORE_OF, TRANSACTION_FACTS } from '../subscriptions/posted.ts'
import { recordedPurchases } from '../subscriptions/recorded.ts'
import type { CustomerStatus } from '../subscriptions/status.ts'
import { storeSubscriptions } from '../subscriptions/store.ts'
import { addedPayments, type PaymentsAdded } from './posted-payments.ts'

const refunds = new Set<string>(REFUND_FACTS)
const facts = new Set<string>([...TRANSACTION_FACTS, ...REFUND_FACTS])

export const isFact = ({ item, user }: Entry): boolean =>
  user !== null && (facts.has(item.event_name) || isSubscriptionFact(item.event_name))

const transactionOf = ({ item }: Entry) => item.transaction?.transaction_id ?? null

/** Leaves out the events of a (platform, transaction id) for which a purchase is recorded: the purchase replaces them. */
async function withoutRecorded(tx: Tx, environment: Environment, entries: Entry[]): Promise<Entry[]> {
  const named = entries.filter(entry => entry.platform !== null && transactionOf(entry) !== null)
  if (named.length === 0) return entries
  const { rows } = await tx.query<{ n: number }>({
    name: 'recorded-transactions',
    text: `select (k.n - 1)::int as n from unnest($2::text[], $3::text[]) with ordinality k(platform, transaction, n)
           cross join lateral (select 1 from purchases where environment = $1 and platform = ${STORE_OF('k.platform')}
             and coalesce(transaction_id, order_id) = k.transaction limit 1) p`,
    values: [environment, named.map(entry => entry.platform), named.map(transactionOf)],
  })
  const recorded = new Set(rows.map(({ n }) => named[n]!))
  return entries.filter(entry => !recorded.has(entry))
}

const usersOf = (entries: Entry[]) => [...new Set(entries.map(entry => entry.user!))].sort()

/** The new status and the added payments of each user of a batch. `recounted`: users to recount when the events are in the log. */
type Folded = { statuses: Map<string, CustomerStatus>; added: Map<string, PaymentsAdded>; recounted: string[] }

/**
 * Folds events that are about to be stored into the subscriptions of their users. The users' rows are locked. A refund needs the transaction
 * that it refunds, and another currency than USD a rate, so their users are left to `recount`.
 */
export async function foldPosted(tx: Tx, environment: Environment, entries: Entry[]): Promise<Folded> {
  const live = await withoutRecorded(tx, environment, entries)
  const changing = live.filter(({ item }) => isSubscriptionFact(item.event_name))
  // An amount in another currency needs the rate of its day.
  const recounted = usersOf(
    live.filter(({ item, money }) => refunds.has(item.event_name) || (money.price !== null && money.currency !== 'USD')),
  )
  const added = addedPayments(live)
  if (changing.length === 0) return { statuses: new Map(), added, recounted }
  const users = usersOf(changing)
  const { rows } = await tx.query<{ now: number }>('select (extract(epoch from environment_now($1)) * 1000)::float8 as now', [environment])
  const { now } = rows[0]!
  const posted = [...(await postedFacts(tx, environment, users)), ...changing.map(entry => postedFact(entry, now))]
  const subscriptions = subscriptionsOf(await recordedPurchases(tx, environment, users), posted)
  const statuses = await storeSubscriptions(tx, environment, users, subscriptions, now)
  return { statuses, added, recounted }
}

import type { Tx } from '../../store/connect.ts'
import { slugsSql } from '../events/catalogue.ts'
import type { Entry } from '../events/entry.ts'
import type { Environment } from '../kernel/environment.ts'
import { eventsOfLineage, LINEAGE_KEY } from '../purchases/subscriptions/lineage-key.ts'
import { beginsPeriod, isFact, LINEAGE_OF, PERIOD_FACTS, postedOf, STORE_OF } from '../purchases/subscriptions/posted.ts'
import { REFUND_FACTS } from '../purchases/subscriptions/posted-price.ts'

// A refund of a transaction that is not recorded is stored, and counts in no chart until the transaction is recorded.

const refunds = new Set<string>(REFUND_FACTS)
const isRefund = (entry: Entry): boolean => isFact(entry) && refunds.has(entry.item.event_name)

const lineageOf = ({ item: { transaction, product_id } }: Entry): string =>
  transaction?.original_transaction_id ?? transaction?.transaction_id ?? (product_id === undefined ? '' : `product ${product_id}`)

/**
 * Whether another item of the batch begins the transaction of the refund, or, if the refund names no transaction, its lineage. A lineage
 * has one owner.
 */
const isOf =
  (refund: Entry) =>
  (begun: Entry): boolean => {
    const isPeriod = beginsPeriod({ name: begun.item.event_name })
    const { transaction_id: named, original_transaction_id: original } = refund.item.transaction ?? {}
    if (begun.user !== refund.user && !(isPeriod && (named ?? original) !== undefined)) return false
    if (named !== undefined) return begun.transactionKey === `${refund.platform ?? ''}:${named}`
    return isPeriod && begun.platform === refund.platform && lineageOf(begun) === lineageOf(refund)
  }

// Ordered ranges, as in `postedOf`: without statistics every index of the environment looks as good.
const UNKNOWN = `
  select k.id from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) k(id, user_id, platform, transaction, lineage)
  where case when k.transaction is null then (
      select 1 from ${postedOf('k.user_id', PERIOD_FACTS)} e
      where e.platform is not distinct from k.platform and ${LINEAGE_OF} = k.lineage limit 1) is null
      and (select 1 from ${eventsOfLineage("coalesce(k.platform, '') || ':' || k.lineage")} and name in (${slugsSql(PERIOD_FACTS)})
        order by ${LINEAGE_KEY} limit 1) is null
    else (
      select case when name in (${slugsSql(PERIOD_FACTS)}) then k.user_id else user_id end from events
      where environment = $1 and transaction_key >= coalesce(k.platform, '') || ':' || k.transaction
        and transaction_key <= coalesce(k.platform, '') || ':' || k.transaction order by transaction_key limit 1) is distinct from k.user_id
      and (
      select 1 from purchases where environment = $1 and platform = ${STORE_OF('k.platform')}
        and coalesce(transaction_id, order_id) >= k.transaction and coalesce(transaction_id, order_id) <= k.transaction
      order by coalesce(transaction_id, order_id) limit 1) is null end`

const OWNERS = `
  select distinct p.user_id from unnest($2::text[], $3::text[]) k(platform, transaction) cross join lateral (
    select user_id from purchases where environment = $1 and platform = ${STORE_OF('k.platform')}
      and coalesce(transaction_id, order_id) >= k.transaction and coalesce(transaction_id, order_id) <= k.transaction
    order by coalesce(transaction_id, order_id) limit 1) p where p.user_id is not null`

/** The owners of the purchases that refunds among the entries name; they own the refunds, too, whoever posted them. */
export async function ownersOfRefunded(tx: Tx, environment: Environment, entries: Entry[]): Promise<string[]> {
  const named = entries.filter(isRefund).filter(({ item }) => item.transaction?.transaction_id !== undefined)
  if (named.length === 0) return []
  const { rows } = await tx.query<{ user_id: string }>({
    name: 'owners-of-refunded',
    text: OWNERS,
    values: [environment, named.map(({ platform }) => platform), named.map(({ item }) => item.transaction!.transaction_id)],
  })
  return rows.map(({ user_id }) => user_id)
}

/** The refunds among the new entries whose transaction is not known. */
export async function findUnmatched(tx: Tx, environment: Environment, entries: Entry[]): Promise<Set<Entry>> {
  const back = entries.filter(isRefund).filter(refund => !entries.some(isOf(refund)))
  if (back.length === 0) return new Set()
  const column = <T>(value: (entry: Entry) => T) => back.map(value)
  const { rows } = await tx.query<{ id: string }>({
    name: 'unmatched-refunds',
    text: UNKNOWN,
    values: [
      environment,
      column(({ id }) => id),
      column(({ user }) => user),
      column(({ platform }) => platform),
      column(({ item }) => item.transaction?.transaction_id ?? null),
      column(lineageOf),
    ],
  })
  const unknown = new Set(rows.map(({ id }) => id))
  return new Set(back.filter(({ id }) => unknown.has(id)))
}

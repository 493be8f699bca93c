import { LOCK } from '../../../store/advisory-locks.ts'
import type { Tx } from '../../../store/connect.ts'
import { markUnlocked } from '../../durable/marks/mark.ts'
import { slugsSql } from '../../events/catalogue.ts'
import type { Environment } from '../../kernel/environment.ts'
import { eventsOfLineage, LINEAGE_KEY, namesIn, OF_LINEAGE, ownerAt, type PostedLineage, periodOfKey } from './lineage-key.ts'
import { OWNER, PERIOD_FACTS, PLATFORM_OF, postedOf, STORE_OF, SUBSCRIPTION_FACTS } from './posted.ts'

// Events of one lineage may be posted under several users. They are about one subscription, and count only for the user who owns it:
// `lineage_owner`. The fold of a user decides the owners of the user's lineages, so the order in which events are stored does not matter.

const RECORDED = (platform: string, lineage: string) => `(
    select user_id from lineages where environment = $1 and platform = ${STORE_OF(platform)} and md5(lineage) = md5(${lineage}) and lineage = ${lineage})`

// If no events of lineages are posted, they are not searched for each purchase.
const OTHERS = (named: string) => `
  select distinct k.key, o.owner from ${named} k(user_id, key, platform, lineage)
  cross join lateral (values (${ownerAt('', 'k.key')}), (${ownerAt('desc', 'k.key')}), (${periodOfKey(OWNER, 'k.key')}),
    (${RECORDED('k.platform', 'k.lineage')})) o(owner)
  where (select 1 from events where ${OF_LINEAGE} limit 1) is not null and o.owner <> k.user_id`

const OTHERS_OF_NAMED = OTHERS('unnest($2::text[], $3::text[], $4::text[], $5::text[])')

const OTHERS_OF_USERS = OTHERS(`(
    select distinct u.id, e.key, e.platform, e.lineage from unnest($2::text[]) u(id) cross join lateral (
      select ${LINEAGE_KEY} as key, platform, coalesce(original_transaction_id, transaction_id) as lineage
      from ${postedOf('u.id', SUBSCRIPTION_FACTS)} e) e
    where e.key is not null
    union
    select u.id, l.platform || ':' || l.lineage, l.platform, l.lineage from unnest($2::text[]) u(id) cross join lateral (
      select ${PLATFORM_OF('platform')} as platform, lineage from lineages
      where environment = $1 and user_id >= u.id and user_id <= u.id order by user_id) l)`)

type Other = { key: string; owner: string }

/** The lineages of these users that other users also have, or have events of. */
export async function otherOwners(tx: Tx, environment: Environment, named: PostedLineage[]): Promise<Other[]> {
  if (named.length === 0) return []
  const names = named.map(({ key }) => namesIn(key))
  const { rows } = await tx.query<Other>({
    name: 'other-owners',
    text: OTHERS_OF_NAMED,
    values: [
      environment,
      named.map(({ user }) => user),
      named.map(({ key }) => key),
      names.map(({ platform }) => platform),
      names.map(({ lineage }) => lineage),
    ],
  })
  return rows
}

/** A posted event of a lineage. `owner`: for whom it counts so far. `begins` in ms. */
type Counted = { user_id: string; owner: string; isPeriod: boolean; begins: number }
type Event = Counted & { key: string; partition: number; log_offset: number }

// Some senders name one lineage for all users ("0", "promo"). That is no subscription of one user, and the time to read it must not grow
// with each post.
const MOST_USERS = 20
const MOST_EVENTS = 5_000

const COLUMNS = `partition, log_offset::float8, id, user_id, ${OWNER} as owner, name in (${slugsSql(PERIOD_FACTS)}) as "isPeriod", received_at,
  (extract(epoch from coalesce(transaction_date, happened_at)) * 1000)::float8 as begins, platform, transaction_id`

// An event that names only a transaction, a refund for example, belongs to the lineage of this transaction.
const EVENTS = `
  with named as (
    select distinct coalesce(${periodOfKey(LINEAGE_KEY, 'k.key')}, k.key) as key from unnest($2::text[]) k(key)
  ), own as materialized (
    select n.key, e.* from named n cross join lateral (select ${COLUMNS} from ${eventsOfLineage('n.key')} order by ${LINEAGE_KEY} limit ${MOST_EVENTS + 1}) e
  ), begun as (
    select distinct key, coalesce(platform, '') || ':' || transaction_id as name from own where "isPeriod" and transaction_id is not null
      and key in (select key from own group by key having count(*) <= ${MOST_EVENTS} and count(distinct user_id) <= ${MOST_USERS})
  )
  select * from own
  union all
  select b.key, e.* from begun b cross join lateral (
    select ${COLUMNS} from ${eventsOfLineage('b.name')} and original_transaction_id is null
      order by ${LINEAGE_KEY} limit ${MOST_EVENTS + 1}) e where b.name <> b.key
  order by key, received_at, id`

const RULES = `
  select k.key, p.transfer_policy = 'transfer' as transfers, ${RECORDED('k.platform', 'k.lineage')} as recorded
  from unnest($2::text[], $3::text[], $4::text[]) k(key, platform, lineage), environments v join projects p on p.id = v.project where v.id = $1`

// An erasure locks its user until it ends: then either the user is gone, or the erasure sees the owners that are decided here.
const EXISTING = `select u.id from unnest($2::text[]) k(id) cross join lateral (
  select id from users where environment = $1 and id >= k.id and id <= k.id order by id limit 1 for key share) u`

const SETTLE = `update events e set lineage_owner = k.owner from unnest($2::smallint[], $3::bigint[], $4::text[]) k(partition, log_offset, owner)
  cross join lateral (
    select ctid as row_id from events where environment = $1 and partition >= k.partition and partition <= k.partition
      and log_offset >= k.log_offset and log_offset <= k.log_offset order by partition, log_offset limit 1) t
  where e.ctid = t.row_id`

type Rule = { key: string; transfers: boolean; recorded: string | null }

async function rulesOf(tx: Tx, environment: Environment, keys: string[]): Promise<Map<string, Rule>> {
  const names = keys.map(namesIn)
  const values = [environment, keys, names.map(({ platform }) => platform), names.map(({ lineage }) => lineage)]
  const { rows } = await tx.query<Rule>({ name: 'rules-of-lineages', text: RULES, values })
  return new Map(rows.map(rule => [rule.key, rule]))
}

/**
 * Who has a lineage: the user of its first period that was posted; where the transfer policy moves it, the user of each period since that begins after all
 * periods before. An older one, of history that is posted late, moves nothing. `events`: in the order in which they were posted. What was settled
 * before has one owner, so the policy decides about new events alone.
 */
function lineageOwner(events: readonly Counted[], transfers: boolean): string {
  const periods = events.filter(({ isPeriod }) => isPeriod)
  let { owner, begins: newest } = periods[0] ?? events[0]!
  for (const period of periods) {
    if (transfers && period.begins > newest) owner = period.owner
    newest = Math.max(newest, period.begins)
  }
  return owner
}

const isOfOne = (events: readonly Counted[]): boolean =>
  events.length <= MOST_EVENTS && new Set(events.map(({ user_id }) => user_id)).size <= MOST_USERS

/**
 * Assigns the posted events of the users' lineages to their owners, and marks every user for whom that changes something. The users are
 * locked. Call it before their marks are deleted: a transaction that waits for another settlement must not keep that one from marking.
 */
export async function settleOwners(tx: Tx, environment: Environment, users: string[]): Promise<void> {
  const { rows: contested } = await tx.query<Other>({ name: 'contested-lineages', text: OTHERS_OF_USERS, values: [environment, users] })
  if (contested.length === 0) return
  // Of two transactions that decide the owner of one lineage the later one must see the decision of the earlier one.
  await tx.query({ name: 'lock-owners', text: 'select pg_advisory_xact_lock($1, $2)', values: [LOCK.lineageOwners, environment] })
  const keys = [...new Set(contested.map(({ key }) => key))]
  const { rows: events } = await tx.query<Event>({ name: 'events-of-lineages', text: EVENTS, values: [environment, keys] })
  const byLineage = Map.groupBy(events, ({ key }) => key)
  const rules = await rulesOf(tx, environment, [...byLineage.keys()])
  const moved = [...byLineage].flatMap(([key, of]) => {
    const { recorded, transfers } = rules.get(key)!
    const one = isOfOne(of) ? (recorded ?? lineageOwner(of, transfers)) : undefined
    return of.flatMap(event => {
      const { owner: former, user_id } = event
      const owner = one ?? user_id
      return owner === former ? [] : [{ ...event, former, owner }]
    })
  })
  if (moved.length === 0) return
  const owners = [...new Set(moved.map(({ owner }) => owner))].sort()
  const { rows } = await tx.query<{ id: string }>({ name: 'existing-owners', text: EXISTING, values: [environment, owners] })
  const existing = new Set(rows.map(({ id }) => id))
  const settled = moved.filter(({ owner }) => existing.has(owner))
  await tx.query({
    name: 'settle-owners',
    text: SETTLE,
    values: [
      environment,
      settled.map(({ partition }) => partition),
      settled.map(({ log_offset }) => log_offset),
      settled.map(({ owner, user_id }) => (owner === user_id ? null : owner)),
    ],
  })
  await markUnlocked(tx, environment, [...new Set(settled.flatMap(({ owner, former }) => [owner, former]))])
}

import type { Db, Pool } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { mark } from '../../durable/marks/mark.ts'
import type { Environment } from '../../kernel/environment.ts'
import { HISTORY_MS } from '../../kernel/limits.ts'
import { lockUsers } from '../../users/user.ts'

// Users from before the column `is_seen_live` existed have null in it. They began when the service recorded them, whatever history was
// recorded with them. Their events and purchases show when they were seen live first, and which history was recorded until then.

/** Users of one transaction. A user may have any number of events: a few users at once keep a statement short. */
const AT_ONCE = 200

const IS_YOUNG = (recorded: string, at: string) => `${recorded} - ${at} <= interval '${HISTORY_MS / 3_600_000} hours'`

// Events and purchases as ordered ranges, one user at a time: without statistics any index of the environment looks as good to a plan. Earlier programs
// let old events act unless the caller forbade it, so the age decides and not `triggers` alone. An app that restores an old purchase is no history:
// such a purchase counts when it was recorded as a backfill, or when no app has reported its version.
const FOUND = `
select k.no, u.id, to_char(u.created_at at time zone 'UTC', 'YYYY-MM-DD') as "from", to_char(h.at at time zone 'UTC', 'YYYY-MM-DD') as "to", h.at::text as at,
  l.at is not null or u.sdk_version is not null or u.last_seen_at > coalesce(u.recorded_at, u.created_at) + interval '1 minute' as "isSeenLive"
from unnest($2::bigint[]) k(no)
cross join lateral (select * from users where no = k.no limit 1) u
cross join lateral (
  select min(t.at) as at from (
    select e.received_at as at from (select * from events where environment = $1 and user_id >= u.id and user_id <= u.id order by user_id, happened_at) e
    where e.purchase is null and (e.sent_at is not null or (e.triggers and ${IS_YOUNG('e.received_at', 'e.happened_at')}))
    union all
    select p.created_at from (select * from purchases where environment = $1 and user_id >= u.id and user_id <= u.id order by user_id, purchased_at, id) p
    where p.triggers and p.verified_at is null and ${IS_YOUNG('p.created_at', 'p.purchased_at')}) t) l
cross join lateral (
  select min(t.at) as at from (
    select e.happened_at as at from (select * from events where environment = $1 and user_id >= u.id and user_id <= u.id order by user_id, happened_at) e
    where e.purchase is null and e.sent_at is null and not (e.triggers and ${IS_YOUNG('e.received_at', 'e.happened_at')})
      and (l.at is null or e.received_at <= l.at)
    union all
    select p.purchased_at from (select * from purchases where environment = $1 and user_id >= u.id and user_id <= u.id order by user_id, purchased_at, id) p
    join lineages n on n.id = p.lineage
    where n.transferred_at is null and not p.is_family_shared and (l.at is null or p.created_at <= l.at)
      and (not p.triggers or (u.sdk_version is null and not ${IS_YOUNG('p.created_at', 'p.purchased_at')}))) t
  where t.at < u.created_at) h
where u.environment = $1 and u.is_seen_live is null`

const NEXT = 'select no, id from users where environment = $1 and no > $2 order by no limit $3'

const WRITE = `
update users u set is_seen_live = k.is_seen_live, created_at = coalesce(k.at, u.created_at),
  recorded_at = case when k.at is null then u.recorded_at else coalesce(u.recorded_at, u.created_at) end
from unnest($2::bigint[], $3::timestamptz[], $4::boolean[]) k(no, at, is_seen_live) where u.environment = $1 and u.no = k.no`

/** A user whose history begins on the day `to`, and who began on the day `from` so far. Days are UTC, `YYYY-MM-DD`. */
export type MovedUser = { from: string; to: string }
type FoundUser = { no: number; id: string; from: string; at: string | null; to: string | null; isSeenLive: boolean }
/** `last`: the number of the last user that was checked; null: there are no more. `users`: the number of checked users. */
type Step = { last: number | null; users: number; moved: MovedUser[] }

async function find(db: Db, environment: Environment, numbers: number[]): Promise<FoundUser[]> {
  const { rows } = await db.query<FoundUser>({ name: 'find-beginnings', text: FOUND, values: [environment, numbers] })
  return rows
}

const movedOf = (found: FoundUser[]): MovedUser[] => found.flatMap(({ from, to }) => (to === null ? [] : [{ from, to }]))

async function nextUsers(db: Db, environment: Environment, after: number): Promise<{ no: number; id: string }[]> {
  return (await db.query<{ no: number; id: string }>(NEXT, [environment, after, AT_ONCE])).rows
}

/** Checks the next users after a number, and changes nothing. */
export async function lookAtBeginnings(pool: Pool, environment: Environment, after: number): Promise<Step> {
  const next = await nextUsers(pool, environment, after)
  const numbers = next.map(({ no }) => no)
  return { last: numbers.at(-1) ?? null, users: next.length, moved: movedOf(await find(pool, environment, numbers)) }
}

/**
 * The same, in one transaction that moves their beginnings, stores who was seen live, and marks the users whose facts change. A user is
 * checked once: from then on the beginning is kept up to date with each record.
 */
export const recomputeBeginnings = (pool: Pool, environment: Environment, after: number): Promise<Step> =>
  transaction(pool, async tx => {
    const next = await nextUsers(tx, environment, after)
    const numbers = next.map(({ no }) => no)
    await lockUsers(
      tx,
      environment,
      [],
      next.map(({ id }) => id),
    )
    const found = await find(tx, environment, numbers)
    const values = [found.map(({ no }) => no), found.map(({ at }) => at), found.map(({ isSeenLive }) => isSeenLive)]
    await tx.query({ name: 'write-found-beginnings', text: WRITE, values: [environment, ...values] })
    await mark(tx, environment, found.flatMap(({ id, at }) => (at === null ? [] : [id])).sort())
    return { last: numbers.at(-1) ?? null, users: next.length, moved: movedOf(found) }
  })

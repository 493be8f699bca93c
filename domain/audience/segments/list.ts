import type { Db, Tx } from '../../../store/connect.ts'
import { lockInOrder, textKeys } from '../../../store/lock-in-order.ts'
import type { Environment } from '../../kernel/environment.ts'
import { Refusal } from '../../kernel/refusal.ts'

/**
 * In SQL: the conditions by which the row `s` of `segments` is evaluated. They are stored with `onList`. A process of an earlier release, beside
 * this one during an upgrade, takes that for a metric that does not exist and finds nobody; and it may store conditions without it.
 */
export const EVALUATED = `case when s.is_listed and not s.conditions @> '[{"metric": "listed"}]'
  then s.conditions || jsonb_build_array(jsonb_build_object('metric', 'listed', 'comparator', 'eq', 'value', s.id, 'negate', false))
  else s.conditions end`

/** In SQL: how many people are on the list of the row of `segments`; null when it has no list. */
export const LISTED_COUNT = `case when segments.is_listed then (select count(*)::int from segment_members m
  where m.environment = segments.environment and m.segment_id = segments.id) end`

/** A refusal names no more ids. */
const MOST_NAMED = 100

/**
 * The ids, each once. They are locked against erasure until the transaction ends. Throws `invalid_data` that says which name no user: to leave
 * them out silently would make another list than the one that was given.
 */
export async function existingUsers(tx: Tx, environment: Environment, ids: readonly string[]): Promise<string[]> {
  const given = [...new Set(ids)]
  const { rows } = await tx.query<{ id: string }>(
    lockInOrder({ table: 'users', key: 'id', keys: textKeys('$2'), where: 'environment = $1', strength: 'key share' }),
    [environment, given],
  )
  const known = new Set(rows.map(({ id }) => id))
  const unknown = given.filter(id => !known.has(id))
  if (unknown.length === 0) return given
  const details = unknown
    .slice(0, MOST_NAMED)
    .map(id => ({ field: `user_ids[${ids.indexOf(id)}]`, message: `names no user: ${id}`.slice(0, 300) }))
  throw new Refusal('invalid_data', `user_ids: ${unknown.length} of ${given.length} ids name no user`, details)
}

/** The ids that name no user. */
export async function unknownUsers(db: Db, environment: Environment, ids: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select k.id from (select distinct id from unnest($2::text[]) t(id)) k
     where (select 1 from users u where u.environment = $1 and u.id >= k.id and u.id <= k.id order by u.id limit 1) is null order by k.id collate "C"`,
    [environment, ids],
  )
  return rows.map(({ id }) => id)
}

/** Makes these users the list of the segment; null: it has none. Returns whether that changed anything. The caller has locked the segment. */
export async function replaceList(tx: Tx, environment: Environment, segment: string, users: readonly string[] | null): Promise<boolean> {
  const gone = await tx.query(
    `delete from segment_members m where m.environment = $1 and m.segment_id = $2
       and not exists (select 1 from unnest($3::text[]) t(id) where t.id = m.user_id)`,
    [environment, segment, users ?? []],
  )
  const added = await tx.query(
    `insert into segment_members (environment, segment_id, user_id) select $1, $2, id from unnest($3::text[]) t(id)
     on conflict do nothing`,
    [environment, segment, users ?? []],
  )
  const marked = await tx.query('update segments set is_listed = $3 where environment = $1 and id = $2 and is_listed <> $3', [
    environment,
    segment,
    users !== null,
  ])
  return [gone, added, marked].some(({ rowCount }) => rowCount !== 0)
}

/** People on the list, by id. `restarted`: the cursor is not on the list, so these are the first ones. */
export async function listedUsers(
  db: Db,
  environment: Environment,
  segment: string,
  { limit, after }: { limit: number; after: string | undefined },
): Promise<{ rows: string[]; restarted: boolean }> {
  const { rows } = await db.query<{ id: string | null; known: boolean }>(
    `with cursor as (select exists (select 1 from segment_members where environment = $1 and segment_id = $2 and user_id = $4) as known)
     select c.known, m.user_id as id from cursor c left join lateral (
       select user_id from segment_members where environment = $1 and segment_id = $2 and user_id > case when c.known then $4::text else '' end
       order by user_id limit $3) m on true order by m.user_id`,
    [environment, segment, limit + 1, after ?? ''],
  )
  return { rows: rows.flatMap(({ id }) => id ?? []), restarted: after !== undefined && !rows[0]!.known }
}

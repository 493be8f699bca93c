import type { Db } from '../../../store/connect.ts'

const KEPT_DAYS = 400
/** A code or a refresh token that has expired is kept for so long, so that a second use is still noticed. */
const EXPIRED_DAYS = 30

const drop = (table: string, key: string, time: string) =>
  `delete from ${table} where ${key} = any (array(
     select ${key} from ${table} where ${time} < now() - make_interval(days => $1) order by ${time} limit $2 for update skip locked))`

/** Removes records of calls after 400 days; at most `batch` at once. now() and not clock_timestamp(): only a stable time can be looked up in an index. */
export async function dropOldCalls(db: Db, batch: number): Promise<number> {
  return (await db.query(drop('mcp_calls', 'id', 'called_at'), [KEPT_DAYS, batch])).rowCount ?? 0
}

/** Removes tokens, confirmations and secrets whose time is over; at most `batch` of each at once. */
export async function dropExpiredTokens(db: Db, batch: number): Promise<number> {
  let dropped = 0
  for (const [table, days] of Object.entries({ mcp_tokens: EXPIRED_DAYS, mcp_confirmations: 1, mcp_reveals: 0, oauth_codes: EXPIRED_DAYS }))
    dropped = Math.max(dropped, (await db.query(drop(table, 'hash', 'expires_at'), [days, batch])).rowCount ?? 0)
  return dropped
}

/** Ends grants whose client has let all of its tokens expire, and removes grants that ended 400 days ago; at most `batch` of each at once. */
export async function dropOldGrants(db: Db, batch: number): Promise<number> {
  const silent = await db.query(
    `update mcp_grants set ended_at = clock_timestamp() where id = any (array(
       select g.id from mcp_grants g where g.ended_at is null
         and not exists (select 1 from mcp_tokens t where t.grant_id = g.id and t.expires_at > now())
       limit $1 for update skip locked))`,
    [batch],
  )
  const old = await db.query(
    `delete from mcp_grants where id = any (array(
       select id from mcp_grants where ended_at < now() - make_interval(days => $1) limit $2 for update skip locked))`,
    [KEPT_DAYS, batch],
  )
  return Math.max(silent.rowCount ?? 0, old.rowCount ?? 0)
}

import type { Db, Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import { endGrants, type ListedGrant } from './grant.ts'

/** A program that asks operators for grants. */
export type OAuthClient = { id: string; name: string; redirectUris: string[] }

const UNUSED_DAYS = 90

export async function registerClient(db: Db, name: string, redirectUris: readonly string[]): Promise<{ id: string; createdAt: string }> {
  const id = orderedId('oac')
  const { rows } = await db.query<{ created_at: string }>(
    'insert into oauth_clients (id, name, redirect_uris) values ($1, $2, $3) returning created_at',
    [id, name, redirectUris],
  )
  return { id, createdAt: rows[0]!.created_at }
}

export async function findClient(db: Db, id: string): Promise<OAuthClient | null> {
  const { rows } = await db.query<{ id: string; name: string; redirect_uris: string[] }>(
    'select id, name, redirect_uris from oauth_clients where id = $1',
    [id],
  )
  return rows[0] ? { id: rows[0].id, name: rows[0].name, redirectUris: rows[0].redirect_uris } : null
}

export type ListedClient = {
  id: string
  name: string
  redirect_uris: string[]
  grants: number
  created_at: string
  granted_at: string
}

/** The registered clients, oldest first; `grants`: how many are in force. */
export async function listClients(db: Db): Promise<ListedClient[]> {
  const { rows } = await db.query<ListedClient>(
    `select id, name, redirect_uris, created_at, granted_at,
       (select count(*)::int from mcp_grants g where g.client_id = c.id and g.ended_at is null) as grants
     from oauth_clients c order by created_at, id`,
  )
  return rows
}

/**
 * Ends all grants of a client, registered or not, and removes its registration and the codes that it has not taken. Returns the grants that have
 * ended; null when nothing is known of the client.
 */
export async function removeClient(tx: Tx, id: string): Promise<ListedGrant[] | null> {
  const removed = await tx.query('delete from oauth_clients where id = $1', [id])
  // Waits for a client that is taking a code: its grant is among those that end here.
  await tx.query('delete from oauth_codes where client_id = $1 and grant_id is null', [id])
  const ended = await endGrants(tx, 'client_id', id)
  return removed.rowCount === 0 && ended.length === 0 ? null : ended
}

/** Removes clients without a grant for 90 days, at most `batch` at once. */
export async function dropUnusedClients(db: Db, batch: number): Promise<number> {
  const { rowCount } = await db.query(
    `delete from oauth_clients where id = any (array(
       select c.id from oauth_clients c where c.granted_at < now() - make_interval(days => $1)
         and not exists (select 1 from mcp_grants g where g.client_id = c.id
           and (g.ended_at is null or g.ended_at > now() - make_interval(days => $1)))
       order by c.granted_at limit $2 for update skip locked))`,
    [UNUSED_DAYS, batch],
  )
  return rowCount ?? 0
}

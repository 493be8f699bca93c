import { connect, type Db, type Tx } from './connect.ts'

/** What the server allows, and what is in use on it. `reserved`: for its administrators. Null: no limit. */
export type ServerRoom = {
  most: number
  reserved: number
  used: number
  mostOfRole: number | null
  mostOfDatabase: number | null
}

/** `numbackends` and not pg_stat_activity, which shows the sessions of others to few roles. */
export async function readRoom(db: Db): Promise<ServerRoom> {
  const { rows } = await db.query<ServerRoom>(
    `select current_setting('max_connections')::int as most,
       current_setting('superuser_reserved_connections')::int + coalesce(current_setting('reserved_connections', true)::int, 0) as reserved,
       (select sum(numbackends) from pg_stat_database)::int as used,
       (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user) as "mostOfRole",
       (select nullif(datconnlimit, -1) from pg_database where datname = current_database()) as "mostOfDatabase"`,
  )
  return rows[0]!
}

/** Whether a pooler stands before the server: it gives clients process numbers of its own. */
export async function isBehindPooler(url: string): Promise<boolean> {
  const pool = connect({ url, max: 1, name: 'perennial-session' })
  try {
    const client = await pool.connect()
    try {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
      return rows[0]!.pid !== (client as typeof client & { processID: number | null }).processID
    } finally {
      client.release(true)
    }
  } finally {
    await pool.end()
  }
}

/** A pooler without a free session answers nothing; a server with room answers within a second, however busy it is. */
const ROOM_MS = 2_000

/**
 * How many of so many sessions can be had at the same time. The sessions of a pooler are wanted by others, too: all are released as soon as each was
 * had or refused, and after two seconds at the latest. A refusal may come before the sessions that can be had.
 */
export async function sessionsToHave(url: string, wanted: number): Promise<number> {
  const pool = connect({ url, max: wanted, name: 'perennial-session', connectMs: ROOM_MS })
  const clients: Tx[] = []
  let found = 0
  let isOver = false
  const release = () => {
    isOver = true
    for (const client of clients.splice(0)) client.release(true)
  }
  const open = async () => {
    const client = await pool.connect()
    if (isOver) return client.release(true)
    found = clients.push(client)
  }
  const limit = setTimeout(release, ROOM_MS)
  await Promise.allSettled(Array.from({ length: wanted }, open))
  clearTimeout(limit)
  release()
  await pool.end()
  return found
}

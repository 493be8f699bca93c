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

/**
 * How many of so many sessions can be had at the same time. What was not there within the time limit of a new connection is asked for once more: a
 * busy server may be slow, a pooler without sessions has none later, either.
 */
export async function sessionsToHave(url: string, wanted: number): Promise<number> {
  const pool = connect({ url, max: wanted, name: 'perennial-session' })
  const clients: Tx[] = []
  for (let attempt = 0; attempt < 2 && clients.length < wanted; attempt++) {
    const opened = await Promise.allSettled(Array.from({ length: wanted - clients.length }, () => pool.connect()))
    clients.push(...opened.flatMap(one => (one.status === 'fulfilled' ? [one.value] : [])))
  }
  for (const client of clients) client.release(true)
  await pool.end()
  return clients.length
}

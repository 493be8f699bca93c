import { connect, type Db, type PoolOptions, type Tx } from './connect.ts'

/** The database cannot be used through this address. The message is the line to print before exit 1. */
export class SessionRefused extends Error {}

const refuse = (cause?: unknown) => {
  const line =
    'the address of the database leads to a pooler that gives each transaction another session (PgBouncer: pool_mode=transaction): use its session mode, or name Postgres itself in DATABASE_DIRECT_URL'
  throw new SessionRefused(line, { cause })
}

/** Of several free sessions a pooler may hand out the same one twice by chance. */
const ROUNDS = 3

type Session = { pid: number; hasSettings: boolean }

async function sessionOf(db: Db): Promise<Session> {
  const { rows } = await db.query<Session>(
    `select pg_backend_pid() as pid, current_setting('plan_cache_mode') = 'force_custom_plan' as "hasSettings"`,
  )
  return rows[0]!
}

/**
 * Throws unless a connection keeps its session from one transaction to the next. Settings, prepared statements, advisory locks and LISTEN
 * belong to the session: without it the service starts, and its workers fail every second. A pooler that divides sessions shows when another
 * connection is in a transaction: both then have the session that one of them had before, or each has the other's.
 */
export async function requireSession(url: string): Promise<void> {
  const pool = connect({ url, max: 2, name: 'perennial-session' })
  const clients: Tx[] = []
  try {
    const one = await pool.connect()
    clients.push(one)
    const other = await pool.connect()
    clients.push(other)
    const [first, second] = [await sessionOf(one), await sessionOf(other)]
    if (first.pid === second.pid) refuse()
    for (let round = 0; round < ROUNDS; round++) {
      await other.query('begin').catch(refuse)
      const [now, inTransaction] = [await sessionOf(one), await sessionOf(other)]
      await other.query('rollback')
      if (now.pid !== first.pid || inTransaction.pid !== second.pid || !now.hasSettings || !inTransaction.hasSettings) refuse()
    }
  } finally {
    for (const client of clients) client.release(true)
    await pool.end()
  }
}

const WHICH = `select current_database() || ' of ' || pg_postmaster_start_time() as database`

/**
 * Throws unless both addresses lead to the same database: otherwise requests would be answered from one, and the work of the service would be
 * done in the other.
 */
export async function requireSameDatabase(pooler: string, direct: string): Promise<void> {
  const [one, other] = await Promise.all([
    databaseAt({ url: pooler, sharesSessions: true, max: 1, name: 'perennial-session' }),
    databaseAt({ url: direct, max: 1, name: 'perennial-session' }),
  ])
  if (one !== other) throw new SessionRefused('DATABASE_URL and DATABASE_DIRECT_URL lead to different databases')
}

async function databaseAt(options: PoolOptions): Promise<string> {
  const pool = connect(options)
  try {
    return (await pool.query<{ database: string }>(WHICH)).rows[0]!.database
  } finally {
    await pool.end()
  }
}

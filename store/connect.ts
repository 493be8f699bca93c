import pg from 'pg'
import { driverFor } from './driver.ts'
import { perTransaction } from './per-transaction.ts'
import { socketOf } from './socket-of.ts'
import { traceStatements } from './trace-statements.ts'
import { isTracing } from './tracing.ts'

export type Pool = pg.Pool
/** Anything that runs a query: the pool, or the client of an open transaction. */
export type Db = pg.Pool | pg.PoolClient
/** The client of an open transaction. */
export type Tx = pg.PoolClient

const TIMESTAMPTZ = pg.types.builtins.TIMESTAMPTZ
const INT8 = pg.types.builtins.INT8
const INT8_ARRAY = 1016

/** `2026-03-01 09:00:00.123+00` -> `2026-03-01T09:00:00Z`: the format of the API, without fractions (never rounded up to the next second). */
export const apiTime = (text: string): string => `${text.slice(0, 10)}T${text.slice(11, 19)}Z`

const numbers = (text: string): (number | null)[] =>
  text === '{}'
    ? []
    : text
        .slice(1, -1)
        .split(',')
        .map(number => (number === 'NULL' ? null : Number(number)))

// For each pool and not global: pg-boss is in the same process and expects Date objects.
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (format === 'binary') return pg.types.getTypeParser(oid, 'binary')
    if (oid === TIMESTAMPTZ) return apiTime
    if (oid === INT8) return Number
    if (oid === INT8_ARRAY) return numbers
    return pg.types.getTypeParser(oid, 'text')
  }) as typeof pg.types.getTypeParser,
}

/** The server cancels a statement that takes longer; the API answers 504 `upstream_timeout`. */
export const STATEMENT_TIMEOUT_MS = 30_000

/** A process that hangs in a transaction keeps its locks, an idempotency key among them, no longer than this. */
const IDLE_IN_TRANSACTION_MS = 60_000
/** On a busy machine some time may pass between two statements. */
const SHORTEST_IDLE_MS = 5_000

/** The time limit for the server's answer after its own limits. */
const SILENCE_MARGIN_MS = 15_000
/** The system probes an idle connection: a dead one may hold a lock that others wait for. */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 }

export type PoolOptions = {
  url: string
  max?: number
  name?: string
  statementTimeoutMs?: number
  /**
   * The lease of jobs. Whatever the pool is for: a process that freezes inside a transaction blocks rows that the successor of a worker must
   * lock, so the server ends the transaction soon after the lease.
   */
  leaseMs?: number
  /** The server ends a transaction in which no statement comes for this long, and releases its locks. */
  idleInTransactionMs?: number
  /** A connection in use is closed when nothing arrives on it for this long. 0: never (statements without a time-out). */
  silenceMs?: number
  /** Plans each prepared statement once. Only for statements with one sensible plan, whatever the tables contain. */
  planOnce?: boolean
  /** A statement is sent without waiting for the answer to the one before (`atOnce`). COPY does not work on such a connection. */
  pipelined?: boolean
  /** Joins by hash only: for statements with many rows that first read every table by its index. */
  hashJoins?: boolean
  /** For statements that read a great part of a table: joins by hash, scans of every kind, memory for them. */
  scans?: boolean
  /** The address leads to a pooler that gives each transaction another session. */
  sharesSessions?: boolean
  /** With `sharesSessions`: the pool without that pooler, for transactions that need a session of their own. */
  sessions?: Pool | undefined
  /** How long a new connection may take, and as long again its first statement. */
  connectMs?: number
  /** Called inside each `transaction`, when all of its statements are done. */
  beforeCommit?: (() => void) | undefined
}

const beforeCommits = new WeakMap<Pool, () => void>()
export const beforeCommitOf = (pool: Pool): (() => void) | undefined => beforeCommits.get(pool)

const sessions = new WeakMap<Pool, Pool>()
/** The pool for a transaction that needs a session: locks that it takes before it begins belong to the session. */
export const sessionsOf = (pool: Pool): Pool => sessions.get(pool) ?? pool

/** The same pool with another way to run a single statement. */
export function derivedPool(pool: Pool, query: Pool['query']): Pool {
  const derived: Pool = Object.create(pool, { query: { value: query }, connect: { value: pool.connect.bind(pool) } })
  sessions.set(derived, sessionsOf(pool))
  const beforeCommit = beforeCommitOf(pool)
  if (beforeCommit) beforeCommits.set(derived, beforeCommit)
  return derived
}

export const isPipelined = (tx: Tx): boolean => (tx as Tx & Pick<pg.Client, 'pipeline'>).pipeline

const CONNECT_MS = 10_000
/** What `pg` says when its own time limit of a statement is over. It has no code. */
const NO_ANSWER = 'Query read timeout'
/** A platform may close idle sessions by a setting of the role, and one that is closed as a statement arrives fails that statement. */
const OF_SESSION = { idle_session_timeout: '0' }

/**
 * Settings of the session, by a statement and not as a parameter of the connection: a pooler in session mode refuses or drops that one. A pooler
 * accepts the connection of a client at once, and lets its first statement wait until a session is free: no answer means that there is none.
 */
async function applySettings(client: pg.ClientBase, settings: Record<string, string>, limitMs: number): Promise<void> {
  const query = {
    text: 'select set_config(name, value, false) from unnest($1::text[], $2::text[]) s(name, value)',
    values: [Object.keys(settings), Object.values(settings)],
    query_timeout: limitMs,
  }
  await client.query(query).catch((error: Error) => {
    if (error.message !== NO_ANSWER) throw error
    throw Object.assign(new Error('no session of the database was free', { cause: error }), { code: 'ETIMEDOUT' })
  })
}

/**
 * The pool of all queries. Returns times as ISO strings in UTC and bigint as number (ids and offsets stay below 2^53).
 */
export function connect({
  url,
  max = 10,
  name = 'perennial',
  statementTimeoutMs = STATEMENT_TIMEOUT_MS,
  leaseMs = IDLE_IN_TRANSACTION_MS,
  idleInTransactionMs = Math.min(IDLE_IN_TRANSACTION_MS, Math.max(SHORTEST_IDLE_MS, leaseMs)),
  silenceMs = statementTimeoutMs && Math.max(statementTimeoutMs, idleInTransactionMs) + SILENCE_MARGIN_MS,
  planOnce: plansOnce = false,
  pipelined = false,
  hashJoins: hashes = false,
  scans = false,
  sharesSessions = false,
  sessions: direct,
  connectMs = CONNECT_MS,
  beforeCommit,
}: PoolOptions): Pool {
  const settings = {
    // Here, too: a name in the address would take precedence, and the sweeps tell the service's own sessions by their names.
    application_name: name,
    timezone: 'UTC',
    datestyle: 'ISO',
    intervalstyle: 'iso_8601',
    statement_timeout: String(statementTimeoutMs),
    idle_in_transaction_session_timeout: String(idleInTransactionMs),
    // A prepared statement is planned at each execution, for the tables as they are then. A plan from the time when the tables were
    // empty reads a whole environment for one row: 37 s instead of 5 s for a first import; planning costs 2 % of a list. Until the
    // first analyze the planner expects only a few rows in an environment, and would read and sort all of them: sequential and
    // bitmap scans are off, as every statement here has an index that gives its rows in order.
    plan_cache_mode: plansOnce ? 'force_generic_plan' : 'force_custom_plan',
    ...(plansOnce && { enable_sort: 'off', enable_incremental_sort: 'off' }),
    ...((hashes || scans) && { enable_nestloop: 'off', enable_mergejoin: 'off' }),
    ...(scans ? { work_mem: '64MB' } : { enable_seqscan: 'off', enable_bitmapscan: 'off' }),
    // Compiling the statement that exports a large part takes longer than executing it.
    jit: 'off',
  }
  const { connectionString, Client } = driverFor(url)
  const pool = new pg.Pool({
    connectionString,
    Client: sharesSessions ? perTransaction(Client, settings) : Client,
    max,
    types,
    application_name: name,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 60_000,
    pipeline: pipelined,
    ...KEEP_ALIVE,
    ...(!sharesSessions && { onConnect: (client: pg.ClientBase) => applySettings(client, { ...settings, ...OF_SESSION }, connectMs) }),
  })
  if (direct) sessions.set(pool, direct)
  if (beforeCommit) beforeCommits.set(pool, beforeCommit)
  // The server may close an idle connection (restart, failover). That must not end the process: the pool opens another connection.
  pool.on('error', () => {})
  pool.on('connect', client => {
    // The same for a connection in use: its user gets the error from the next query.
    client.on('error', () => {})
    // A server whose machine or network is gone closes no connection, its limits have no effect here, and TCP waits at least a quarter of
    // an hour for an answer: until then every caller would wait.
    const socket = socketOf(client)
    socket.on('timeout', () => socket.destroy(Object.assign(new Error('the database is silent'), { code: 'ETIMEDOUT' })))
  })
  pool.on('acquire', client => socketOf(client).setTimeout(silenceMs))
  pool.on('release', (_error, client) => socketOf(client).setTimeout(0))
  if (isTracing()) traceStatements(pool)
  return pool
}

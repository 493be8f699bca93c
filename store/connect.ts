import type { Socket } from 'node:net'
import pg from 'pg'

export type Pool = pg.Pool
/** Anything that runs a query: the pool, or the client of an open transaction. */
export type Db = pg.Pool | pg.PoolClient
/** The client of an open transaction. */
export type Tx = pg.PoolClient

const TIMESTAMPTZ = pg.types.builtins.TIMESTAMPTZ
const INT8 = pg.types.builtins.INT8
const INT8_ARRAY = 1016

/** `2026-03-01 09:00:00.123+00` -> `2026-03-01T09:00:00Z`: the wire's form, fractions cut off (never rounded into the next second). */
export const wireTime = (text: string): string => `${text.slice(0, 10)}T${text.slice(11, 19)}Z`

const numbers = (text: string): number[] => (text === '{}' ? [] : text.slice(1, -1).split(',').map(Number))

// Per pool, not global: pg-boss lives in the same process and expects Date objects.
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (format === 'binary') return pg.types.getTypeParser(oid, 'binary')
    if (oid === TIMESTAMPTZ) return wireTime
    if (oid === INT8) return Number
    if (oid === INT8_ARRAY) return numbers
    return pg.types.getTypeParser(oid, 'text')
  }) as typeof pg.types.getTypeParser,
}

/** A statement that takes longer is ended by the server and answered 504 `upstream_timeout`. */
export const STATEMENT_TIMEOUT_MS = 30_000

/** A process that hangs in a transaction holds an idempotency key no longer than this. */
export const IDLE_IN_TRANSACTION_MS = 60_000

/** What the server ends after its own limits is heard of before that. */
const SILENCE_MARGIN_MS = 15_000
/** A connection at rest is asked whether it is there: it may hold what nobody else can have meanwhile. */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 }

export type PoolOptions = {
  url: string
  max?: number
  name?: string
  statementTimeoutMs?: number
  /** A transaction that nobody goes on with is ended after this long, and its locks with it. */
  idleInTransactionMs?: number
  /** A connection in use on which nothing is heard for so long is given up. 0: never, where statements may take their time. */
  silenceMs?: number
  /** Statements are planned once: only for those that have one sensible plan, whatever is in the tables. */
  plansOnce?: boolean
  /** What is asked need not wait for the answer to what was asked before (`atOnce`). Nothing is copied through such a connection. */
  pipelined?: boolean
  /** Tables are joined by hashing alone: for statements of many rows which ask every table by its index first. */
  hashes?: boolean
}

export const isPipelined = (tx: Tx): boolean => (tx as Tx & Pick<pg.Client, 'pipeline'>).pipeline

const socketOf = (client: pg.PoolClient): Socket => (client as pg.PoolClient & { connection: { stream: Socket } }).connection.stream

/**
 * The pool that every query goes through. Times come back as ISO strings in UTC, bigint as number (ids and offsets stay below 2^53).
 */
export function connect({
  url,
  max = 10,
  name = 'perennial',
  statementTimeoutMs = STATEMENT_TIMEOUT_MS,
  idleInTransactionMs = IDLE_IN_TRANSACTION_MS,
  silenceMs = statementTimeoutMs && Math.max(statementTimeoutMs, idleInTransactionMs) + SILENCE_MARGIN_MS,
  plansOnce = false,
  pipelined = false,
  hashes = false,
}: PoolOptions): Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    types,
    application_name: name,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 60_000,
    pipeline: pipelined,
    ...KEEP_ALIVE,
    options: [
      '-c timezone=UTC',
      '-c datestyle=ISO',
      '-c intervalstyle=iso_8601',
      `-c statement_timeout=${statementTimeoutMs}`,
      `-c idle_in_transaction_session_timeout=${idleInTransactionMs}`,
      // A prepared statement is planned for the tables as they are at each execution (a plan kept from when they were still empty
      // reads a whole environment for one row: 37 s instead of 5 s for a first import; planning costs 2 % of a list). And until the
      // first analyze the planner takes an environment for a handful of rows, best read whole and sorted: every statement here has
      // an index that gives its rows in order.
      plansOnce ? '-c plan_cache_mode=force_generic_plan -c enable_sort=off' : '-c plan_cache_mode=force_custom_plan',
      ...(hashes ? ['-c enable_nestloop=off', '-c enable_mergejoin=off'] : []),
      '-c enable_seqscan=off',
      '-c enable_bitmapscan=off',
      // The export of a large part would be compiled first, which takes longer than running it.
      '-c jit=off',
    ].join(' '),
  })
  // An idle connection that the server closes (restart, failover) must not end the process: the pool opens another one.
  pool.on('error', () => {})
  pool.on('connect', client => {
    // Nor must one that is in somebody's hands: whoever has it hears of it by the next query.
    client.on('error', () => {})
    // A server whose machine or network is gone sends no word of it, its own limits do not reach us, and TCP waits for an answer for a
    // quarter of an hour at best: until then nothing that asked would go on.
    const socket = socketOf(client)
    socket.on('timeout', () => socket.destroy(Object.assign(new Error('the database is silent'), { code: 'ETIMEDOUT' })))
  })
  pool.on('acquire', client => socketOf(client).setTimeout(silenceMs))
  pool.on('release', (_error, client) => socketOf(client).setTimeout(0))
  return pool
}

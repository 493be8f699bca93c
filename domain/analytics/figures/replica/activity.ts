import type { DuckDBConnection } from '@duckdb/node-api'
import type { Db, Pool, Tx } from '../../../../store/connect.ts'
import type { Environment } from '../../../kernel/environment.ts'
import { pointInTimeOf } from '../point-in-time.ts'
import { inSnapshot, loadRows } from './load-rows.ts'
import { TABLES } from './tables.ts'

// The times at which users were active, for questions that count each user once, however often the user was active. Facts have only some of
// these times. The log has all of them, and that is far more than a question needs: the first and the last time of a user on a past UTC day
// tell whether the user was active in any interval that contains a midnight.

/** The next offset of each partition of the log. */
export type LogEnds = ReadonlyMap<number, number>

const LOG = 'activity_log'
const STALE = 'activity_stale'
const TIMES = 'activity_times'

const TIME_COLUMNS = [
  { name: 'user_no', type: 'BIGINT' },
  { name: 'happened', type: 'BIGINT' },
]
const columnList = TIME_COLUMNS.map(({ name, type }) => `${name} ${type}`).join(', ')

const DAY = 86_400
/** All later times are kept: a question may be about a time before the pull. */
const WHOLE_SECONDS = 3_600
/** Rows that are copied at a time. */
const ROWS_AT_ONCE = 1_000_000

export async function logEndsOf(db: Db, environment: Environment): Promise<LogEnds> {
  const { rows } = await db.query<{ partition: number; next_offset: number }>({
    name: 'ends-of-log',
    text: 'select partition, next_offset from log_positions where environment = $1',
    values: [environment],
  })
  return new Map(rows.map(({ partition, next_offset }) => [partition, next_offset]))
}

type LogRange = { partition: number; first: number; until: number }

/** The events between two ends of the log, in parts of at most ROWS_AT_ONCE rows. */
function* partsOf(known: LogEnds, ends: LogEnds): Generator<LogRange[]> {
  let part: LogRange[] = []
  let rows = 0
  for (const [partition, end] of ends) {
    for (let first = known.get(partition) ?? 0; first < end; ) {
      const until = Math.min(end, first + ROWS_AT_ONCE - rows)
      part.push({ partition, first, until })
      rows += until - first
      first = until
      if (rows < ROWS_AT_ONCE) continue
      yield part
      part = []
      rows = 0
    }
  }
  if (part.length > 0) yield part
}

const logRows = (environment: Environment, ranges: readonly LogRange[]): string => {
  const own = ranges.map(
    ({ partition, first, until }) => `select user_id, happened_at from events
      where environment = ${environment} and partition = ${partition} and log_offset >= ${first} and log_offset < ${until}`,
  )
  return `select u.no, floor(extract(epoch from e.happened_at))::bigint from (${own.join(' union all ')}) e
    join users u on u.environment = ${environment} and u.id = e.user_id`
}

/** The state of a copy of the log: it has all events before `ends`; of times up to `settled`, the first and the last of each user and UTC day. */
type LogCopy = { ends: LogEnds; settled: number }

/** A file by its path and its name in DuckDB. */
export type ActivityLocation = { connection: DuckDBConnection; schema: string; path: string; pool: Pool; environment: Environment }

export type Activity = {
  /** `none`: no question has needed the times yet. */
  phase: () => 'none' | 'building' | 'kept'
  isBehind: (ends: LogEnds) => boolean
  /** Times up to this one may have been left out. */
  settled: () => number
  /**
   * Builds the copy from nothing on a connection of its own, while pulls continue. Throws when `isUnwanted` or after an error; the copy is
   * then as before.
   */
  build: (own: DuckDBConnection, alone: <T>(work: () => Promise<T>) => Promise<T>, isUnwanted: () => boolean) => Promise<void>
  /** Notes the users of rows of a table of facts that are about to be inserted or deleted. */
  note: (table: string, incoming: string) => Promise<void>
  /** Brings the copy to the facts of the file and the log of the snapshot, in the open transaction. Call the returned function after the commit. */
  follow: (tx: Tx, ends: LogEnds, asOf: number) => Promise<() => void>
}

/** The first and the last time of each user and UTC day, of rows (user_no, happened). */
const thinned = (rows: string) => `select user_no, unnest(case when first = last then [first] else [first, last] end) as happened from (
  select user_no, min(happened) as first, max(happened) as last from ${rows} group by user_no, floor(happened / ${DAY}))`

const dayStart = (at: number): number => Math.floor(at / DAY) * DAY

export const activityTable = (schema: string): string => `${schema}.${TIMES}`

/** Drops the tables that an earlier process left: nothing tells up to which offsets they have the log. */
export async function dropActivity(connection: DuckDBConnection, schema: string): Promise<void> {
  for (const name of [LOG, STALE, TIMES]) await connection.run(`drop table if exists ${schema}.${name}`)
}

export function activityOf({ connection, schema, path, pool, environment }: ActivityLocation): Activity {
  const [log, stale, times] = [LOG, STALE, TIMES].map(name => `${schema}.${name}`) as [string, string, string]
  const [users, transactions] = [TABLES.users, TABLES.transactions].map(({ name }) => `${schema}.${name}`) as [string, string]
  const incomingTimes = 'incoming_activity'
  let phase: ReturnType<Activity['phase']> = 'none'
  let copy: LogCopy = { ends: new Map(), settled: -Infinity }
  let isNoted = false

  /** Copies what is new in the log. `eachPart`: called when a part of the rows stands in `incomingTimes`. */
  async function bringLog(tx: Tx, into: DuckDBConnection, known: LogEnds, to: LogCopy, eachPart: () => Promise<unknown>): Promise<void> {
    for (const ranges of partsOf(known, to.ends)) {
      await into.run(`create or replace temp table ${incomingTimes} (${columnList})`)
      await loadRows(tx, { connection: into, beside: path, sql: logRows(environment, ranges), into: incomingTimes, columns: TIME_COLUMNS })
      await into.run(`insert into ${log} ${thinned(`${incomingTimes} where happened <= ${to.settled}`)}
        union all select user_no, happened from ${incomingTimes} where happened > ${to.settled}`)
      await eachPart()
    }
    await into.run(`drop table if exists ${incomingTimes}`)
  }

  /** Many pulls have added times, and each pull kept two times of a user and day. Two times are enough for a day that is over. */
  async function thinOut(from: number, to: number): Promise<void> {
    const over = `${log} where happened >= ${from} and happened < ${to}`
    await connection.run(`insert into ${stale} select user_no, false from ${over} group by user_no having count(*) > 2`)
    await connection.run(`create or replace temp table ${incomingTimes} as ${thinned(over)}`)
    await connection.run(`delete from ${over}`)
    await connection.run(`insert into ${log} select * from ${incomingTimes}`)
    await connection.run(`drop table ${incomingTimes}`)
  }

  /** Every time with the time before it of the same user. Users without facts have a mark that is not folded yet. */
  const chained = (among: string) => `select user_no, happened, previous, happened - previous as since
    from (select user_no, happened, lag(happened) over (partition by user_no order by happened) as previous
      from (select user_no, happened from ${log} where user_no in (select user_no from ${users}) and ${among}
        union select user_no, created from ${users} where ${among}
        union select user_no, happened from ${transactions} where kind between 1 and 5 and ${among}) o) o order by happened`

  const copyLog = (own: DuckDBConnection, isUnwanted: () => boolean): Promise<LogCopy> =>
    inSnapshot(pool, async tx => {
      const { asOf } = await pointInTimeOf(tx, environment)
      const made = { ends: await logEndsOf(tx, environment), settled: asOf - WHOLE_SECONDS }
      await bringLog(tx, own, new Map(), made, async () => {
        if (isUnwanted()) throw new Error('the replica is closed')
      })
      return made
    })

  return {
    phase: () => phase,
    isBehind: ends => isNoted || [...ends].some(([partition, end]) => (copy.ends.get(partition) ?? 0) < end),
    settled: () => copy.settled,
    async build(own, alone, isUnwanted) {
      try {
        await alone(async () => {
          await connection.run(`create or replace table ${log} (${columnList})`)
          await connection.run(`create or replace table ${stale} (user_no BIGINT, is_gone BOOLEAN)`)
          // From here on pulls note what they change.
          phase = 'building'
        })
        const made = await copyLog(own, isUnwanted)
        await own.run(`create or replace table ${times} as ${chained('true')}`)
        await alone(async () => {
          copy = made
          phase = 'kept'
          isNoted = true
        })
      } catch (error) {
        phase = 'none'
        throw error
      }
    },
    async note(table, incoming) {
      if (table === TABLES.users.name) await connection.run(`insert into ${stale} select user_no, is_gone from ${incoming}`)
      if (table !== TABLES.transactions.name) return
      await connection.run(`insert into ${stale} select user_no, false from ${incoming} where not is_gone
        union all select user_no, false from ${transactions} where id in (select id from ${incoming} where is_gone)`)
    },
    async follow(tx, ends, asOf) {
      const next = { ends, settled: Math.max(copy.settled, asOf - WHOLE_SECONDS) }
      await bringLog(tx, connection, copy.ends, next, () =>
        connection.run(`insert into ${stale} select user_no, false from ${incomingTimes}`),
      )
      const [turned, turns] = [copy, next].map(({ settled }) => dayStart(settled)) as [number, number]
      if (turned < turns) await thinOut(turned, turns)
      const isStale = `user_no in (select user_no from ${stale})`
      await connection.run(`delete from ${log} where user_no in (select user_no from ${stale} where is_gone)`)
      await connection.run(`delete from ${times} where ${isStale}`)
      await connection.run(`insert into ${times} ${chained(isStale)}`)
      await connection.run(`delete from ${stale}`)
      return () => {
        copy = next
        isNoted = false
      }
    },
  }
}

import type { DuckDBConnection } from '@duckdb/node-api'
import { STATE_COLUMNS } from '../charts/change-states.ts'
import { TABLES } from './tables.ts'

// The subscriptions at the beginning of a month, so that a stock of today does not add up the changes of years.

/**
 * The subscriptions in trial, paid or grace just before `at`: a table that has the state of the last change of each one. `countsFrom`: all
 * ends before `at` count from this time on.
 */
export type KeptSnapshot = { at: number; table: string; countsFrom: number }

const MOST_KEPT = 8
/** An end by the mere passing of time counts up to three days later, and a test clock may be set back a little. */
const SETTLED_SECONDS = 7 * 86_400

const monthOf = (at: number): number => {
  const date = new Date(at * 1000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / 1000
}

/** The latest beginning of a month, up to a time, whose snapshot no longer changes by the mere passing of time; null: there is none. */
export function snapshotTime(at: number, now: number): number | null {
  const month = monthOf(Math.min(at, now - SETTLED_SECONDS))
  return month > 0 ? month : null
}

const stateOf = (names: readonly string[]) => names.map(name => `c.a_${name} as ${name}`).join(', ')

export type StockSnapshots = {
  /** The present snapshots. The returned list does not change afterwards. */
  list: () => readonly KeptSnapshot[]
  /** Requests a snapshot of this time, because a question would be faster with it. */
  want: (at: number) => void
  /** Makes the requested snapshots. No other task may use the connection meanwhile. */
  make: () => Promise<void>
  /** Drops, in the open transaction, the snapshots that a change at this time makes wrong. */
  dropAfter: (earliest: number) => Promise<void>
}

export function stockSnapshotsOf(connection: DuckDBConnection, schema: string): StockSnapshots {
  let known: readonly KeptSnapshot[] = []
  const wanted = new Set<number>()
  const changes = `${schema}.${TABLES.changes.name}`

  const oneNumber = async (sql: string): Promise<bigint> => {
    const value = (await connection.runAndReadAll(sql)).getRows()[0]![0]
    return value === null ? 0n : BigInt(value as bigint | number)
  }

  async function makeOne(at: number): Promise<void> {
    const table = `${schema}.standing_${at}`
    await connection.run('begin')
    try {
      await connection.run(`create or replace table ${table} as
        select c.user_no, c.subscription, c.media, c.campaign, ${stateOf(STATE_COLUMNS)} from ${changes} c
        join (select subscription, max(happened) as happened from ${changes} where happened < ${at} group by subscription) l
          on l.subscription = c.subscription and l.happened = c.happened
        where c.a_state in (1, 2, 3)`)
      const countsFrom = await oneNumber(`select max(counts_from) from ${changes} where happened < ${at} and a_state <> b_state`)
      // Every change begins with the state in which the one before it ended; otherwise the snapshots are not the sum of the changes.
      const isIn = (prefix: string) => `case when ${prefix}_state in (1, 2, 3) then 1 + coalesce(${prefix}_amount, 0) else 0 end`
      const added = await oneNumber(`select sum(${isIn('a')}) - sum(${isIn('b')}) from ${changes} where happened < ${at}`)
      const stood = await oneNumber(`select sum(1 + coalesce(amount, 0)) from ${table}`)
      await connection.run(added === stood ? 'commit' : 'rollback')
      if (added === stood) known = [...known, { at, table, countsFrom: Number(countsFrom) }]
    } catch (error) {
      await connection.run('rollback').catch(() => {})
      throw error
    }
  }

  return {
    list: () => known,
    want(at) {
      if (!known.some(one => one.at === at)) wanted.add(at)
    },
    async make() {
      for (const at of wanted) {
        wanted.delete(at)
        if (known.some(one => one.at === at)) continue
        await makeOne(at)
        const old = known.slice(0, Math.max(0, known.length - MOST_KEPT))
        known = known.slice(old.length)
        for (const { table } of old) await connection.run(`drop table if exists ${table}`)
      }
    },
    async dropAfter(earliest) {
      const wrong = known.filter(({ at }) => at > earliest)
      // First, so that no question begins with one of the dropped tables.
      known = known.filter(({ at }) => at <= earliest)
      for (const { table } of wrong) await connection.run(`drop table ${table}`)
    },
  }
}

/** Drops the snapshots of an earlier process: they may be wrong by now. */
export async function dropStockSnapshots(connection: DuckDBConnection, schema: string): Promise<void> {
  const read = await connection.runAndReadAll(
    `select table_name from duckdb_tables() where database_name = '${schema}' and table_name like 'standing\\_%' escape '\\'`,
  )
  for (const [name] of read.getRows()) await connection.run(`drop table ${schema}.${name}`)
}

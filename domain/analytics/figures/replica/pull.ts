import type { DuckDBConnection } from '@duckdb/node-api'
import type { Pool, Tx } from '../../../../store/connect.ts'
import type { Environment } from '../../../kernel/environment.ts'
import { pointInTimeOf } from '../point-in-time.ts'
import type { FactBounds } from '../source.ts'
import { type Activity, type LogEnds, logEndsOf } from './activity.ts'
import { widened } from './bounds.ts'
import { digestOfFile, digestOfPostgres } from './digest.ts'
import { OutOfDate } from './failure.ts'
import { inSnapshot, loadRows } from './load-rows.ts'
import type { StockSnapshots } from './stock-snapshots.ts'
import { type ReplicaTable, replicaTables, selectedColumns, TABLES } from './tables.ts'

/**
 * The content of a file: all facts of a generation up to `seq`. `asOf`: the file has everything that was recorded before this time, by the
 * environment's clock.
 */
export type FileContent = { generation: number; seq: number; asOf: number }
/** The same, with the version of the rules by which they were folded. */
export type Content = FileContent & { foldVersion: number }

/** Bounds of a file that hold for all of its states: no value that the file ever had is outside of them. */
export type Kept = { bounds: FactBounds }

/** A file by its path and its name in DuckDB. */
export type PullTarget = {
  connection: DuckDBConnection
  schema: string
  path: string
  environment: Environment
  snapshots: StockSnapshots
  activity: Activity
  kept: Kept
}

/**
 * Brings a file up to date, in one snapshot of Postgres and one transaction of DuckDB. `known`: the content of the file; null: its tables
 * are empty. `verify`: compare the content with Postgres afterwards. Throws OutOfDate.
 */
export function pull(
  pool: Pool,
  target: PullTarget,
  { known, verify, origin }: { known: FileContent | null; verify: boolean; origin: string },
): Promise<Content> {
  return inSnapshot(pool, async tx => {
    const { generation, seq, pruned, foldVersion, asOf } = await pointInTimeOf(tx, target.environment)
    if (known && (known.generation !== generation || known.seq > seq || known.seq < pruned)) throw new OutOfDate('the file is too old')
    const content = { generation, seq, foldVersion, asOf }
    const ends = target.activity.phase() === 'kept' ? await logEndsOf(tx, target.environment) : null
    const isBehind = ends !== null && target.activity.isBehind(ends)
    if (known === null || known.seq < seq || isBehind) await apply(tx, target, { known, content, origin, ends })
    if (verify) await compare(tx, target, content)
    return content
  })
}

async function apply(
  tx: Tx,
  target: PullTarget,
  { known, content, origin, ends }: { known: FileContent | null; content: Content; origin: string; ends: LogEnds | null },
): Promise<void> {
  const { connection, schema, activity } = target
  await connection.run('begin')
  try {
    for (const table of replicaTables()) await bring(tx, target, table, known, content)
    const followed = ends && (await activity.follow(tx, ends, content.asOf))
    await connection.run(`delete from ${schema}.replica_state`)
    await connection.run(`insert into ${schema}.replica_state values ($1, $2, $3, $4)`, [
      origin,
      content.generation,
      BigInt(content.seq),
      BigInt(content.asOf),
    ])
    await connection.run('commit')
    followed?.()
  } catch (error) {
    await connection.run('rollback').catch(() => {})
    throw error
  }
}

/** The rows of a table that were written since `known`. A new file gets its rows in the order of time, so that an interval is in few blocks. */
async function bring(tx: Tx, target: PullTarget, table: ReplicaTable, known: FileContent | null, content: Content): Promise<void> {
  const { environment, connection, schema, path, snapshots, activity, kept } = target
  const { name, key, columns, isTombstone, isUnderGeneration, order, together } = table
  const where = [`environment = ${environment}`, ...(isUnderGeneration ? [`generation = ${content.generation}`] : [])]
  const names = columns.map(column => column.name).join(', ')
  if (known === null) {
    const alive = [...where, `not (${isTombstone})`].join(' and ')
    const sql = `select ${selectedColumns(table)} from ${name} f where ${alive} order by ${order}`
    await loadRows(tx, { connection, beside: path, sql, into: `${schema}.${name}`, columns, order: together && `${together}, ${order}` })
    return
  }
  const since = [...where, `seq > ${known.seq}`, `seq <= ${content.seq}`]
  const arrived = { name: 'is_gone', type: 'BOOLEAN' }
  const incoming = `incoming_${name}`
  await connection.run(
    `create or replace temp table ${incoming} (${[...columns, arrived].map(column => `${column.name} ${column.type}`).join(', ')})`,
  )
  const sql = `select ${selectedColumns(table)}, ${isTombstone} as is_gone from ${name} f where ${since.join(' and ')}`
  const rows = await loadRows(tx, { connection, beside: path, sql, into: incoming, columns: [...columns, arrived] })
  if (rows > 0) {
    kept.bounds = await widened(connection, kept.bounds, name, incoming)
    if (name === TABLES.changes.name) await snapshots.dropAfter(await earliestOf(connection, `${schema}.${name}`, incoming))
    if (activity.phase() !== 'none') await activity.note(name, incoming)
    // The row of a user is updated in place. A row of any other table is never updated, except to a tombstone.
    const isInPlace = key === 'user_no'
    await connection.run(
      `delete from ${schema}.${name} where ${key} in (select ${key} from ${incoming}${isInPlace ? '' : ' where is_gone'})`,
    )
    await connection.run(`insert into ${schema}.${name} select ${names} from ${incoming} where not is_gone`)
  }
  await connection.run(`drop table ${incoming}`)
}

/** The time of the first change among the inserted and deleted ones. */
async function earliestOf(connection: DuckDBConnection, changes: string, incoming: string): Promise<number> {
  const read = await connection.runAndReadAll(`select least(
    (select min(happened) from ${incoming} where not is_gone),
    (select min(happened) from ${changes} where id in (select id from ${incoming} where is_gone)))`)
  const value = read.getRows()[0]![0]
  return value === null ? Number.POSITIVE_INFINITY : Number(value)
}

async function compare(tx: Tx, { connection, schema, environment }: PullTarget, { generation }: Content): Promise<void> {
  const [file, truth] = [await digestOfFile(connection, schema), await digestOfPostgres(tx, environment, generation)]
  if (file !== truth) throw new OutOfDate('the file has other facts')
}

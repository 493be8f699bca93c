import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import type { Pool } from '../../../../store/connect.ts'
import type { Environment } from '../../../kernel/environment.ts'
import { pointInTimeOf } from '../point-in-time.ts'
import type { FactSource } from '../source.ts'
import { type Activity, activityOf, activityTable, dropActivity, logEndsOf } from './activity.ts'
import { boundsOfFile, NO_BOUNDS } from './bounds.ts'
import { Fallback, fallbackOf, OutOfDate } from './failure.ts'
import { attach, originOf, type ReplicaFile, removeFile } from './file.ts'
import { type Content, type FileContent, type Kept, pull } from './pull.ts'
import { onReplica, type Session, type Snapshot } from './source.ts'
import { dropStockSnapshots, type StockSnapshots, stockSnapshotsOf } from './stock-snapshots.ts'

/** A question with `fresh` waits for so long until a replica is up to date. After that Postgres answers. */
const LONG_PATIENCE_MS = 5_000

/** Concurrent questions of a process: so many connections are kept open. */
export const QUESTIONS_AT_ONCE = 2

/** The facts of one environment in a file of DuckDB. */
export type Replica = {
  environment: Environment
  /** When the last question began, by performance.now(). */
  usedAt: () => number
  /** When the last pull ended. */
  pulledAt: () => number
  isBusy: () => boolean
  /** Brings the file up to date. */
  refresh: () => Promise<void>
  /** Answers a question. `fresh`: with everything that was recorded before the question, or not at all. Throws Fallback, OutOfDate. */
  query: <T>(work: (source: FactSource) => Promise<T>, how: Freshness) => Promise<T>
  /** `keep`: false removes the file. */
  close: (keep: boolean) => Promise<void>
}

/** `deadline`: by performance.now(). `active`: the question is about the times at which users were active. `background`: nobody waits for the answer. */
export type Freshness = { fresh: boolean; deadline: number; active?: boolean; background?: boolean }

/** `patienceMs`: a question waits for so long until a replica is up to date. After that the question uses the replica as it is. */
export type ReplicaLocation = { instance: DuckDBInstance; pool: Pool; folder: string; environment: Environment; patienceMs: number }

/** Opens the file of an environment, or makes it. Throws OutOfDate when the environment is deleted. */
export async function openReplica({ instance, pool, folder, environment, patienceMs }: ReplicaLocation): Promise<Replica> {
  const connection = await instance.connect()
  const origin = await originOf(pool, environment)
  if (origin === null) throw new OutOfDate('the environment is gone')
  let file: ReplicaFile
  let snapshots: StockSnapshots
  let activity: Activity
  const attached = async () => {
    file = await attach(connection, { folder, environment, origin })
    await dropStockSnapshots(connection, file.schema)
    await dropActivity(connection, file.schema)
    snapshots = stockSnapshotsOf(connection, file.schema)
    activity = activityOf({ connection, schema: file.schema, path: file.path, pool, environment })
  }
  /** `keep`: false removes the file, whether or not DuckDB still answers. */
  const detach = async (keep: boolean) => {
    const detached = connection.run(`detach database if exists ${file.schema}`)
    if (keep) await detached
    else await detached.catch(() => {}).then(() => removeFile(file.path))
  }
  let pulledAt = -Infinity
  let usedAt = performance.now()
  let content: Content = { generation: 0, seq: -1, foldVersion: 0, asOf: 0 }
  /** The numbers of texts in the vocabulary of the facts, as far as questions needed them, and what questions found in the facts. */
  const nothingKnown = () => ({ numbers: new Map<string, number>(), found: new Map<string, Promise<unknown>>() })
  let known = nothingKnown()
  const kept: Kept = { bounds: NO_BOUNDS }
  const bring = async (stored: FileContent | null, verify: boolean) => {
    const startedAt = performance.now()
    const before = content.seq
    const target = { connection, schema: file.schema, path: file.path, environment, snapshots, activity, kept }
    content = await pull(pool, target, { known: stored, verify, origin })
    pulledAt = startedAt
    if (content.seq !== before) known = nothingKnown()
  }
  const fill = async () => {
    try {
      await bring(file.content, file.content !== null)
    } catch (error) {
      if (!(error instanceof OutOfDate)) throw error
      await detach(false)
      await attached()
      await bring(null, false)
    }
    kept.bounds = await boundsOfFile(connection, file.schema)
  }
  try {
    await attached()
    await fill().catch(async error => {
      // A failure of Postgres says nothing about a file that has facts.
      await detach(file.content !== null && fallbackOf(error).reason === 'building').catch(() => {})
      throw error
    })
  } catch (error) {
    connection.closeSync()
    throw error
  }

  let working: Promise<unknown> = Promise.resolve()
  let waiting = 0
  /** Tasks that write to the file, one after the other. */
  const alone = <T>(work: () => Promise<T>): Promise<T> => {
    waiting++
    const own = working
      .catch(() => {})
      .then(work)
      .finally(() => {
        waiting--
      })
    working = own
    return own
  }
  let pulling: Promise<void> | null = null
  const refresh = (): Promise<void> => {
    pulling ??= alone(() => bring(content, false)).finally(() => {
      pulling = null
    })
    return pulling
  }
  const reach = async (seq: number): Promise<void> => {
    while (content.seq < seq && !isClosing) await refresh()
  }

  /** A pull is needed only when facts were written since the last one; to find that out costs one query. */
  async function follow({ fresh }: Freshness): Promise<void> {
    const { generation, seq, asOf } = await pointInTimeOf(pool, environment)
    if (generation !== content.generation) throw new OutOfDate('another generation')
    // A pull may have run meanwhile.
    if (seq < content.seq) return
    if (seq === content.seq) {
      content = { ...content, asOf: Math.max(content.asOf, asOf) }
      pulledAt = performance.now()
      return
    }
    await Promise.race([reach(seq), pause(fresh ? Math.max(LONG_PATIENCE_MS, patienceMs) : patienceMs, undefined, { ref: false })])
    if (fresh && content.seq < seq) throw new Fallback('building', 'the replica is behind')
  }

  let isClosing = false
  /** Tasks under way: the connections and files that they use stay open until they have ended. */
  let works = 0
  async function whileOpen<T>(work: () => Promise<T>): Promise<T> {
    if (isClosing) throw new Fallback('building', 'the replica is closed')
    works++
    try {
      return await work()
    } finally {
      works--
    }
  }

  let building: Promise<void> | null = null
  /** The reason why the times of activity could not be copied; the next question about these times throws it. */
  let failure: Error | null = null
  /** Begins to copy the times at which users were active. */
  const buildActivity = (): Promise<void> => {
    const build = async () => {
      const own = await instance.connect()
      querying.add(own)
      try {
        await activity.build(own, alone, () => isClosing)
      } finally {
        querying.delete(own)
        own.closeSync()
      }
    }
    building ??= whileOpen(build).finally(() => {
      building = null
    })
    building.catch(error => {
      failure = error
    })
    return building
  }

  /** Brings the times at which users were active up to date; throws when this replica cannot answer the question. */
  async function followActivity(): Promise<void> {
    const tooLate = pause(patienceMs, undefined, { ref: false })
    const failed = failure
    failure = null
    if (failed) throw failed
    if (activity.phase() !== 'kept') await Promise.race([buildActivity(), tooLate])
    if (activity.phase() !== 'kept') throw new Fallback('building', 'the times of users are being copied')
    const ends = await logEndsOf(pool, environment)
    const reached = async () => {
      while (activity.isBehind(ends) && !isClosing) await refresh()
    }
    await Promise.race([reached(), tooLate])
    if (activity.isBehind(ends)) throw new Fallback('building', 'the times of users are behind')
  }

  const querying = new Set<DuckDBConnection>()
  const idle: Session[] = []
  const query: Replica['query'] = (work, how) => whileOpen(() => answer(work, how))

  async function answer<T>(work: (source: FactSource) => Promise<T>, how: Freshness): Promise<T> {
    usedAt = performance.now()
    const following = how.active ? follow(how).then(followActivity) : follow(how)
    await following.catch(error => {
      throw error instanceof OutOfDate ? error : fallbackOf(error)
    })
    if (isClosing) throw new Fallback('building', 'the replica is closed')
    const session = idle.pop() ?? { connection: await instance.connect(), relations: new Map() }
    querying.add(session.connection)
    let isWhole = false
    let isWanted = false
    const wants = (at: number) => {
      snapshots.want(at)
      isWanted = true
    }
    try {
      const snapshot = await begin(session.connection)
      const times = how.active ? { table: activityTable(file.schema), settled: activity.settled() } : null
      const answered = await work(
        await onReplica(session, { schema: file.schema, deadline: how.deadline, want: wants, times, ...snapshot }),
      )
      // The next question uses its temporary tables.
      await session.connection.run('commit')
      isWhole = true
      return answered
    } finally {
      // The next question uses them; without them the question only takes longer.
      if (isWanted) void alone(() => snapshots.make()).catch(() => {})
      querying.delete(session.connection)
      if (isWhole && idle.length < QUESTIONS_AT_ONCE) idle.push(session)
      else session.connection.closeSync()
    }
  }

  /** Begins a transaction and returns the time of its facts. */
  async function begin(own: DuckDBConnection): Promise<Snapshot> {
    try {
      // A snapshot that is dropped or made at the same time may be visible in the transaction or not.
      const before = snapshots.list()
      await own.run('begin')
      const read = await own.runAndReadAll(`select seq, as_of from ${file.schema}.replica_state`)
      const [seq, asOf] = read.getRows()[0]!.map(Number)
      const seen = snapshots.list().filter(one => before.includes(one))
      const alike = { foldVersion: content.foldVersion, bounds: kept.bounds, snapshots: seen }
      return seq === content.seq ? { ...alike, asOf: content.asOf, ...known } : { ...alike, asOf: asOf!, ...nothingKnown() }
    } catch (error) {
      throw fallbackOf(error)
    }
  }

  async function close(keep: boolean): Promise<void> {
    isClosing = true
    while (works > 0) {
      for (const own of querying) own.interrupt()
      await pause(5)
    }
    while (waiting > 0) await working.catch(() => {})
    for (const { connection: own } of idle.splice(0)) own.closeSync()
    await detach(keep).finally(() => connection.closeSync())
  }

  return {
    environment,
    usedAt: () => usedAt,
    pulledAt: () => pulledAt,
    isBusy: () => querying.size > 0 || waiting > 0,
    refresh,
    query,
    close,
  }
}

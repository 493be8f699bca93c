import { EXPENSIVE_SHARE } from '../api/request-turns.ts'

/**
 * Sizes of the pools of connections that the operator chooses. `main`: of the requests of the API, of what a worker does in transactions of several
 * statements, and of downloads. `execution`: of the statements of every run and delivery, and of the readers of the log. `recording`: of the records of
 * steps. `files`: of the runs that write files.
 */
export type PoolSizes = { main: number; execution: number; recording: number; files: number }

/** Connections of the main pool that no request uses: for downloads and, in a process that is a worker as well, for its jobs. */
const RESERVED = 2
/**
 * The smallest main pool. In a worker five connections are held by what waits for another one of the same pool: the watchdog's lock, two sweeps of
 * stores, a rebuild and an audit of facts. With three more no one waits for one that waits.
 */
const LEAST_MAIN = 8
/** Readers of the log and folds hold one each, and the sweep must find another. */
const LEAST_EXECUTION = 4
/** Two flushes, and a transaction of steps beside them. */
const LEAST_RECORDING = 4
/** Up to 14 runs want one at a time. With few connections most of them would wait until the limit of a connection, and fail. */
const LEAST_FILES = 6
const MOST = 200

/** `number`: reads a variable, and refuses what is not between the limits. */
export const poolSizes = (number: (name: string, fallback: number, min: number, max: number) => number): PoolSizes => ({
  main: number('DATABASE_POOL', 12, LEAST_MAIN, MOST),
  execution: number('DATABASE_POOL_EXECUTION', 10, LEAST_EXECUTION, MOST),
  // Records of steps, suspensions and ends, at most two flushes of each in flight, and eight transactions of steps that many runs make together.
  recording: number('DATABASE_POOL_RECORDING', 14, LEAST_RECORDING, MOST),
  files: number('DATABASE_POOL_FILES', 10, LEAST_FILES, MOST),
})

/** The sizes of the pools of the API. */
export function poolsOfApi({ main }: PoolSizes) {
  const requests = main - RESERVED
  // Each question reads sets of users beside its own snapshot, and a copy of facts is loaded meanwhile: with fewer connections they would wait for
  // each other.
  const figures = Math.max(4, 2 * Math.ceil(requests * EXPENSIVE_SHARE))
  return { requests, checks: 3, callers: 3, listing: requests, stepping: 2, figures }
}

/** Each run of charts reads sets of users beside its own snapshot: with fewer connections the runs would wait for each other. */
export const FIGURES_OF_WORKER = 8
/** For readiness and the metrics. */
export const WATCHING = 2

/** One for heartbeats and one that another heartbeat does not wait for, and one that listens. */
const LEASES_AND_LISTENER = 3
/** Four of pg-boss, and the one by which it listens. */
const PG_BOSS = 5
/** Listens for the pages of the console that are open. */
const LIVE = 1
/** Of transactions that need a session, where the others share sessions. */
export const TURNS = 3

type Counted = {
  pools: PoolSizes
  redis: object | undefined
  metricsPort: number | undefined
  role: 'all' | 'api' | 'worker' | 'analytics'
  poolerUrl: string | undefined
}

/** The most connections that a process has open at the same time. `pooled`: to the pooler in transaction mode; `direct`: to everything else. */
export function mostConnections({ pools, redis, metricsPort, role, poolerUrl }: Counted): { direct: number; pooled: number } {
  const { checks, callers, listing, stepping, figures } = poolsOfApi(pools)
  const sharing = pools.main + listing + stepping + figures
  if (role === 'api' && poolerUrl !== undefined) return { direct: TURNS + checks + callers + LIVE + WATCHING, pooled: sharing }
  const api = checks + callers + listing + stepping + figures + LIVE
  const { execution, recording, files } = pools
  const worker = execution + recording + files + FIGURES_OF_WORKER + LEASES_AND_LISTENER + (redis ? 0 : PG_BOSS)
  if (role === 'analytics') return { direct: pools.main + figures + WATCHING, pooled: 0 }
  const isWatched = role !== 'worker' || metricsPort !== undefined
  const direct = pools.main + (role === 'worker' ? 0 : api) + (role === 'api' ? 0 : worker) + (isWatched ? WATCHING : 0)
  return { direct, pooled: 0 }
}

import type { Logger } from 'pino'
import type { QueueMetrics, RunMetrics } from '../api/metrics.ts'
import type { Replicas } from '../domain/analytics/figures/replica/replicas.ts'
import { connect } from '../store/connect.ts'
import { startFactAudit } from '../workers/fact-audit.ts'
import { startFactRebuild } from '../workers/fact-rebuild.ts'
import { startHousekeeping } from '../workers/housekeeping.ts'
import { startStatistics } from '../workers/statistics.ts'
import { startStoreSweeps } from '../workers/store-sweeps.ts'
import { startWatchdog } from '../workers/watchdog.ts'
import { startWorker } from '../workers/worker.ts'
import type { AtCrashPoint } from '../workflows/engine/crash-point.ts'
import { POLICIES } from '../workflows/engine/policy.ts'
import { googleTokens } from '../workflows/outgoing/google-token.ts'
import { outgoing } from '../workflows/outgoing/outgoing.ts'
import { storeClients } from '../workflows/stores/clients.ts'
import type { RefreshCounts } from '../workflows/stores/refresh-queue/refresh-deps.ts'
import { sweepsOf } from '../workflows/stores/sweep/sweeps.ts'
import type { Config } from './config.ts'
import { consoleDrawing } from './console/drawing.ts'
import { jobs } from './jobs.ts'
import { FIGURES_OF_WORKER } from './pool-sizes.ts'
import { openQueue } from './queue.ts'
import type { Resources } from './resources.ts'

type WorkMetrics = RunMetrics & RefreshCounts & QueueMetrics

export type WorkOptions = {
  /** The service's own address. */
  publicUrl: string
  /** Undefined: nobody reads the figures of this process. */
  metrics?: WorkMetrics | undefined
  /** Those of the API in this process. Its connections are for people, who would wait for a thousand reports of one minute. */
  replicas?: Replicas | null | undefined
  at?: AtCrashPoint | undefined
}

/** Executes jobs in this process. Resolves, when the worker is ready, to the function that stops it. */
export async function work(
  config: Config,
  log: Logger,
  resources: Resources,
  { publicUrl, metrics, replicas = null, at }: WorkOptions,
): Promise<() => Promise<void>> {
  const { url, pool, secrets, storage } = resources
  const { allowPrivateNetwork, mail, exportPartRows: partRows, leaseMs, pools } = config
  const queue = await openQueue(config, log, resources, metrics?.watchRedis)
  const beforeCommit = at && (() => at('before-planned-commit'))
  const planned = connect({
    url,
    name: 'perennial-execution',
    leaseMs,
    max: pools.execution,
    planOnce: true,
    pipelined: true,
    beforeCommit,
  })
  const recording = connect({
    url,
    name: 'perennial-recording',
    leaseMs,
    max: pools.recording,
    planOnce: true,
    hashJoins: true,
    beforeCommit,
  })
  const copying = connect({ url, name: 'perennial-files', leaseMs, max: pools.files })
  const scanning = connect({ url, name: 'perennial-figures', leaseMs, max: FIGURES_OF_WORKER, scans: true })
  const requests = outgoing({ allowPrivateNetwork })
  const tokens = googleTokens(requests)
  const unknownWord = (field: string, word: string) => log.warn({ field, word }, 'Google Play uses a word that this version does not know')
  const stores = storeClients({ outgoing: requests, tokens, unknownWord, ...config.stores })
  const network = { outgoing: requests, tokens, stores, allowPrivateNetwork, mail, publicUrl }
  const worker = await startWorker({
    pool: planned,
    url,
    queue,
    ...jobs({
      pool,
      planned,
      recording,
      copying,
      facts: { pool, scanning, replicas, proceedsRates: config.proceedsRates },
      drawing: consoleDrawing(),
      secrets,
      storage,
      ...network,
      partRows,
      policies: POLICIES,
      ...(metrics && { refreshCounts: metrics }),
      onSetAside: one => log.warn(one, 'a notification of a store was set aside'),
      ...(at && { at }),
    }),
    ...(at && { at }),
    leaseMs,
    log,
    ...(metrics && { onOutcome: metrics.outcome }),
  })
  const housekeeping = startHousekeeping({ pool, log, days: config.retention })
  const statistics = startStatistics(pool, log)
  const watchdog = startWatchdog({ pool, log })
  const factAudit = startFactAudit({ pool, log })
  const storeSweeps = startStoreSweeps({ pool, secrets, sweeps: sweepsOf(stores), log, ...(at && { at }) })
  const factRebuild = startFactRebuild({ pool, log })
  const parts = [worker, storeSweeps, factRebuild, factAudit, watchdog, statistics, housekeeping]
  return async () => {
    // All at once: no part claims or begins anything from here on, and the time until the end is that of the slowest.
    const stopped = await Promise.allSettled(parts.map(part => part.stop()))
    const closed = await Promise.allSettled([requests.close(), ...[copying, scanning, recording, planned].map(one => one.end())])
    const failed = [...stopped, ...closed].find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined
    // A part that cannot be stopped leaves no connection open.
    if (failed) throw failed.reason
  }
}

import { join } from 'node:path'
import type { Logger } from 'pino'
import type { FigureMetrics } from '../api/metrics.ts'
import type { FactAccess } from '../domain/analytics/figures/open-source.ts'
import { replicasOf } from '../domain/analytics/figures/replica/replicas.ts'
import { connect } from '../store/connect.ts'
import type { Config } from './config.ts'
import type { Resources } from './resources.ts'

/** Postgres answers from fewer rows within half a second. */
const FACTS_WORTH_A_REPLICA = 200_000

export type OpenedFacts = { access: FactAccess; close(): Promise<void> }

/** The facts for a process that computes figures, with copies in columns unless another process keeps them. `size`: of the pool that reads facts. */
export function openFacts(
  config: Config,
  log: Logger,
  { url, pooler, pool }: Resources,
  metrics: FigureMetrics,
  size: number,
): OpenedFacts {
  const scanning = connect({
    url: pooler ?? url,
    sharesSessions: pooler !== undefined,
    name: 'perennial-figures',
    leaseMs: config.leaseMs,
    max: size,
    scans: true,
  })
  const isCopied = config.analyticsReplica !== 'off' && config.analyticsUrl === undefined
  const replicas = isCopied
    ? replicasOf({
        pool: scanning,
        folder: join(config.dataDir, 'replicas'),
        memory: config.analyticsMemory,
        from: FACTS_WORTH_A_REPLICA,
        onAnswer: metrics.figuresBy,
        onError: (error, environment) => log.warn({ err: error, environment }, 'a replica of facts failed: Postgres answers'),
      })
    : null
  return {
    access: { pool, scanning, replicas, proceedsRates: config.proceedsRates },
    async close() {
      await replicas?.close()
      await scanning.end()
    },
  }
}

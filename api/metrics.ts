import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { version } from '../schemas/version.ts'
import { driftGauges } from './drift-gauges.ts'
import { eventLoopDelay } from './event-loop-delay.ts'
import type { Readiness } from './readiness.ts'
import { RUNTIME } from './runtime-name.ts'

export type HttpMetrics = { answered(operation: string, status: number, seconds: number): void }
export type FigureMetrics = { figuresBy(by: string): void }
export type RunMetrics = { outcome(kind: string, outcome: string): void }
/** `environment` and `type` are empty where no authentic notification states them. */
export type NotificationLabels = { store: string; environment: string; type: string; source: string; answer: string }
export type StoreMetrics = { notification(labels: NotificationLabels, seconds: number): void }
/**
 * `sandboxInProduction`: a user of production has claimed a purchase of a store's sandbox, and got access for a short time. `purchaseRefused`: `store` is
 * empty where the claim names none.
 */
export type ClaimMetrics = { sandboxInProduction(): void; purchaseRefused(store: string, reason: string): void }
/** What the work on the queues of stores counts. */
export type RefreshMetrics = { refresh(store: string, result: string): void; missed(store: string): void }
/** `policy`: what Redis does when its memory is full (`maxmemory-policy`); null while it is not known. */
export type RedisReading = { isUp: boolean; policy: string | null }
export type QueueMetrics = {
  /** This process uses Redis: `state` is asked whenever the metrics are read. */
  watchRedis(state: () => RedisReading): void
}
export type Metrics = HttpMetrics &
  QueueMetrics &
  RunMetrics &
  FigureMetrics &
  RefreshMetrics &
  ClaimMetrics &
  StoreMetrics & { text(): Promise<string>; contentType: string; close(): void }

const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/**
 * One registry per process: HTTP, executions of jobs, overdue jobs, the runtime. `close` it with the process. `role`: what the process does. What the
 * process itself does is counted here; figures of the whole installation come from Postgres, and are the same in every process.
 */
export function metrics(readiness: Readiness, role = 'all'): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  new Gauge({
    name: 'perennial_build_info',
    help: 'Always 1: the version, the runtime and the role of the process',
    labelNames: ['version', 'runtime', 'role'],
    registers,
  }).set({ version: version(), runtime: RUNTIME, role }, 1)
  const requests = new Counter({
    name: 'perennial_http_requests_total',
    help: 'Requests answered',
    labelNames: ['operation', 'status'],
    registers,
  })
  const duration = new Histogram({
    name: 'perennial_http_request_duration_seconds',
    help: 'Time to answer',
    labelNames: ['operation'],
    buckets: BUCKETS,
    registers,
  })
  const outcomes = new Counter({
    name: 'perennial_runs_total',
    help: 'Executions of jobs by outcome',
    labelNames: ['kind', 'outcome'],
    registers,
  })
  const figures = new Counter({
    name: 'perennial_figures_total',
    help: 'Questions to facts: answered by the replica, by Postgres for this reason, or by another process',
    labelNames: ['by'],
    registers,
  })
  const notifications = new Counter({
    name: 'perennial_store_notifications_total',
    help: 'Notifications of stores by what was answered',
    labelNames: ['store', 'environment', 'type', 'source', 'answer'],
    registers,
  })
  const acknowledged = new Histogram({
    name: 'perennial_store_ack_seconds',
    help: 'Time from the headers of a notification to its answer',
    labelNames: ['store'],
    buckets: BUCKETS,
    registers,
  })
  const refreshes = new Counter({
    name: 'perennial_store_refreshes_total',
    help: 'Questions to stores about a lineage, by what they answered',
    labelNames: ['store', 'result'],
    registers,
  })
  const missed = new Counter({
    name: 'perennial_store_missed_total',
    help: 'Questions without a notification whose answer changed a known lineage: a push should have brought it',
    labelNames: ['store'],
    registers,
  })
  const inProduction = new Counter({
    name: 'perennial_store_sandbox_in_production_total',
    help: 'Claims of purchases of the App Store sandbox by users of production: App Review makes some, many are an attempt of fraud',
    registers,
  })
  const refused = new Counter({
    name: 'perennial_purchase_refusals_total',
    help: 'Claims of purchases by apps and servers that were refused, by reason',
    labelNames: ['store', 'reason'],
    registers,
  })
  const { close } = eventLoopDelay(registers)
  const drift = driftGauges(readiness, registers)
  return {
    answered(operation, status, seconds) {
      requests.inc({ operation, status })
      duration.observe({ operation }, seconds)
    },
    figuresBy: by => figures.inc({ by }),
    notification(labels, seconds) {
      notifications.inc(labels)
      acknowledged.observe({ store: labels.store }, seconds)
    },
    refresh: (store, result) => refreshes.inc({ store, result }),
    sandboxInProduction: () => inProduction.inc(),
    purchaseRefused: (store, reason) => refused.inc({ store, reason }),
    missed: store => missed.inc({ store }),
    outcome: (kind, outcome) => outcomes.inc({ kind, outcome }),
    watchRedis: state => redisGauges(state, registers),
    async text() {
      await drift.read()
      return registry.metrics()
    },
    contentType: registry.contentType,
    close,
  }
}

function redisGauges(state: () => RedisReading, registers: Registry[]): void {
  new Gauge({
    name: 'perennial_redis_up',
    help: 'Whether Redis has answered at the last look: 1, or 0',
    registers,
    collect() {
      this.set(state().isUp ? 1 : 0)
    },
  })
  new Gauge({
    name: 'perennial_redis_policy',
    help: 'Always 1: what Redis does when its memory is full; must be noeviction',
    labelNames: ['policy'],
    registers,
    collect() {
      const { policy } = state()
      this.reset()
      if (policy !== null) this.set({ policy }, 1)
    },
  })
}

import type { Logger } from 'pino'
import { listenForFigures } from '../api/figures-server.ts'
import { type Metrics, metrics } from '../api/metrics.ts'
import { type Readiness, readiness } from '../api/readiness.ts'
import type { Listening } from '../api/serve-app.ts'
import { connect } from '../store/connect.ts'
import type { Config } from './config.ts'
import { WATCHING } from './pool-sizes.ts'

/** A server that answers nothing for so long is gone, not slow. */
export const CHECK_LIMITS = { statementTimeoutMs: 5_000, silenceMs: 10_000 }

/** What a process of any role shows of itself. */
export type ProcessHealth = {
  readiness: Readiness
  metrics: Metrics
  /** Serves it on METRICS_PORT; resolves to the address, or to null without such a port. */
  listen(): Promise<string | null>
  close(): Promise<void>
}

/** Connects for readiness and the metrics: no other statement uses these connections. */
export function openHealth({ host, metricsPort, metricsToken, leaseMs, role }: Config, log: Logger, url: string): ProcessHealth {
  const pool = connect({ url, name: 'perennial-readiness', leaseMs, max: WATCHING, ...CHECK_LIMITS })
  const ready = readiness(pool)
  const measurements = metrics(ready, role)
  const figures = metricsToken === undefined ? ('open' as const) : { token: metricsToken }
  let server: Listening | undefined
  return {
    readiness: ready,
    metrics: measurements,
    async listen() {
      if (metricsPort === undefined) return null
      server = await listenForFigures({ readiness: ready, metrics: measurements, figures, log }, { port: metricsPort, host })
      return addressOf(host, server.port)
    },
    async close() {
      await server?.close()
      measurements.close()
      await pool.end()
    },
  }
}

const LOCAL = new Set(['127.0.0.1', '0.0.0.0', '::', '::1', 'localhost'])

/** An address of this machine to call. */
export const addressOf = (host: string | undefined, port: number): string => `http://${nameOf(host)}:${port}`

function nameOf(host: string | undefined): string {
  if (host === undefined || LOCAL.has(host)) return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { BuildState } from '../api/console/source.ts'
import { opensKeys, WRONG_SECRET } from '../domain/projects/keys.ts'
import { secretsFrom } from '../domain/projects/secrets.ts'
import { connect } from '../store/connect.ts'
import { openDiskStorage } from '../store/files/open-disk.ts'
import type { S3Options } from '../store/files/s3-client.ts'
import type { FileStorage } from '../store/files/storage.ts'
import { openDatabase } from '../store/open.ts'
import { requireSameDatabase } from '../store/session.ts'
import type { AtCrashPoint } from '../workflows/engine/crash-point.ts'
import type { ServedApi } from './api.ts'
import { bootstrap } from './bootstrap.ts'
import { type Config, ConfigError } from './config.ts'
import { warnOfRoom } from './connections.ts'
import { firstKeysFile, type MadeKeys, writeFirstKeys } from './first-keys.ts'
import { type FirstOperator, firstOperator } from './first-operator.ts'
import type { ProcessHealth } from './health.ts'
import { mostConnections, TURNS } from './pool-sizes.ts'
import type { Resources } from './resources.ts'
import { startTraces } from './traces.ts'

/** In the last part of a drain each answer ends its connection: what a client still uses is closed between two of its requests. */
const LAST_PART = 0.2

/**
 * `url`: the address of the API; null for a worker. `keys`: those of the first project, when this start has made them and may show them.
 * `keysFile`: the file with them, from this start or an earlier one: the start may still fail, and no later one can show the keys.
 * `firstOperator`: where the first operator signs up, while there is none. `console`: whether its pages are there; null: this process serves none.
 */
export type Perennial = {
  url: string | null
  metricsUrl: string | null
  keys: MadeKeys | null
  keysFile: string | null
  firstOperator: FirstOperator | null
  console: BuildState | null
  /** `drains`: the API serves on for DRAIN_SECONDS, so that load balancers learn that it is not ready. */
  stop(options?: { drains: boolean }): Promise<void>
}

/**
 * `showKeys`: the caller shows the first keys, and then removes their file. `at`: called at named points between two lasting changes, and
 * inside transactions. `signal`: ends a wait for the migration of the database, with an AbortError.
 */
export type StartOptions = { showKeys?: boolean; at?: AtCrashPoint; signal?: AbortSignal }

type Closing = (() => Promise<unknown>)[]

/** The start succeeds even if the bucket does not answer. The warning tells the operator before the first export fails. */
async function bucket(s3: S3Options, folder: string, log: Logger, closing: Closing): Promise<FileStorage> {
  const { s3Storage } = await import('../store/files/s3.ts')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const storage = s3Storage({ ...s3, folder })
  closing.push(async () => storage.close())
  storage
    .probe()
    .catch(error => log.warn({ why: (error as Error).message, bucket: s3.bucket }, 'the bucket for export files does not work'))
  return storage
}

/**
 * Starts the parts of the role, on one database. Resolves when they are ready; a failure leaves nothing running. Modules that the role
 * does not need are not loaded: a worker without the API is 30 MB smaller.
 */
export async function startPerennial(config: Config, log: Logger, { showKeys = false, at, signal }: StartOptions = {}): Promise<Perennial> {
  const closing: Closing = []
  let served: ServedApi | undefined
  let url: string | null = null
  let health: ProcessHealth | undefined
  let stopWork: (() => Promise<void>) | undefined
  const orLog = (end: () => Promise<unknown>) => end().catch(error => log.error({ err: error }, 'stopping'))
  const stop = async ({ drains = false } = {}) => {
    health?.readiness.beginDraining()
    // At once, whatever is still served: other workers take the jobs.
    const drained = drains && served ? drain(served, config.drainMs) : undefined
    const endWork = stopWork
    stopWork = undefined
    await Promise.all([drained, endWork && orLog(endWork)])
    for (const close of closing.splice(0).reverse()) await orLog(close)
  }
  try {
    // First, and so ended last: pools and workers are made for the traces that there are.
    if (config.traces) closing.push(await startTraces(config.traces, config.role, log))
    const opened = await openDatabase({ ...config, log: message => log.info(message), ...(signal && { signal }) })
    closing.push(() => opened.close())
    const beforeCommit = at && (() => at('before-commit'))
    // Jobs need sessions, and a process that executes them has little else to do.
    const pooler = config.role === 'api' ? config.poolerUrl : undefined
    const { leaseMs } = config
    const sessions = pooler && connect({ url: opened.url, name: 'perennial-turns', max: TURNS, leaseMs })
    if (sessions) closing.push(() => sessions.end())
    if (pooler) await requireSameDatabase(pooler, opened.url)
    const shared = sessions ? { url: pooler, sharesSessions: true, sessions } : { url: opened.url }
    const pool = connect({ ...shared, name: `perennial-${config.role}`, max: config.pools.main, leaseMs, beforeCommit })
    closing.push(() => pool.end())
    if (!opened.isEmbedded)
      await warnOfRoom(pool, opened.url, mostConnections(config).direct, log).catch(error =>
        log.warn({ err: error }, 'how many connections the database allows cannot be read'),
      )
    const secrets = secretsFrom(opened.appSecret)
    if (!(await opensKeys(pool, secrets))) throw new ConfigError(WRONG_SECRET)
    const made = await bootstrap(pool, secrets, config.bootstrap, async keys => {
      if (keys.secretKey !== undefined || keys.projectKey !== undefined) await writeFirstKeys(config.dataDir, keys)
    })
    const keys = showKeys ? made : null
    const keysFile = await firstKeysFile(config.dataDir)
    const files = join(config.dataDir, 'exports')
    const storage = config.s3 ? await bucket(config.s3, files, log, closing) : await openDiskStorage(pool, files, line => log.error(line))
    const resources: Resources = { url: opened.url, pooler, pool, secrets, storage }

    // A worker that nobody watches does not load what shows it.
    if (config.role !== 'worker' || config.metricsPort !== undefined) {
      const { openHealth } = await import('./health.ts')
      health = openHealth(config, log, opened.url)
      closing.push(() => health!.close())
    }
    if (config.role === 'analytics') {
      const figures = await (await import('./analytics.ts')).serveFigures(config, log, resources, health!)
      closing.push(() => figures.close())
      url = figures.url
    } else if (config.role !== 'worker') {
      served = await (await import('./api.ts')).serve(config, log, resources, health!)
      closing.push(() => served!.close())
      url = served.url
    }
    const signUp = served
      ? await firstOperator(pool, secrets, { dataDir: config.dataDir, url: config.publicUrl ?? served.url, isShown: showKeys, log })
      : null
    if (config.role === 'all' || config.role === 'worker') {
      const { work } = await import('./worker.ts')
      const publicUrl = config.publicUrl ?? served?.url ?? `http://localhost:${config.port}`
      stopWork = await work(config, log, resources, { publicUrl, metrics: health?.metrics, replicas: served?.replicas, at })
    }
    const metricsUrl = (await health?.listen()) ?? null
    const console = served?.console?.state() ?? null
    // Last: the start does not wait for it, and shares the processors with nothing that it does.
    served?.console?.begin()
    return { url, metricsUrl, keys, keysFile, firstOperator: signUp, console, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Serves as before, until load balancers have seen that the process is not ready; then ends connections with their answers. */
async function drain(served: ServedApi, ms: number): Promise<void> {
  await pause(ms * (1 - LAST_PART))
  served.endConnections()
  await pause(ms * LAST_PART)
}

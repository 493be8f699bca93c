import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { answerCheck } from './api/answer-check.ts'
import { type Metrics, metrics } from './api/metrics.ts'
import { type Listening, listen } from './api/server.ts'
import { type Config, ConfigError } from './config.ts'
import { bootstrap } from './domain/projects/bootstrap.ts'
import { opensKeys, WRONG_SECRET } from './domain/projects/check-secret.ts'
import type { ProjectKeys } from './domain/projects/create.ts'
import { secretsFrom } from './domain/projects/seal.ts'
import { connect, type Pool } from './store/connect.ts'
import { diskStorage } from './store/files/disk.ts'
import type { FileStorage } from './store/files/storage.ts'
import { openDatabase } from './store/open.ts'
import { startHousekeeping } from './workers/housekeeping.ts'
import { startWorker } from './workers/main.ts'
import { pgBossQueue } from './workers/pg-boss.ts'
import { exportWorkflow } from './workflows/export/export.ts'
import { exportRetention } from './workflows/export/retention.ts'

/** `keys`: those of the first project, when this start has made it. `url`: where the API answers; null for a worker. */
export type Perennial = { url: string | null; keys: ProjectKeys | null; stop(): Promise<void> }

/** Starts what the role asks for, on one database. Resolves when it is ready; a failure leaves nothing running. */
export async function startPerennial(config: Config, log: Logger): Promise<Perennial> {
  const closing: (() => Promise<unknown>)[] = []
  const stop = async () => {
    for (const close of closing.splice(0).reverse()) await close().catch(error => log.error({ err: error }, 'stopping'))
  }
  try {
    const opened = await openDatabase({ ...config, log: message => log.info(message) })
    closing.push(() => opened.close())
    const pool = connect({ url: opened.url, name: `perennial-${config.role}` })
    closing.push(() => pool.end())
    const secrets = secretsFrom(opened.appSecret)
    if (!(await opensKeys(pool, secrets))) throw new ConfigError(WRONG_SECRET)
    const keys = await bootstrap(pool, secrets, config.bootstrap)
    const files = join(config.dataDir, 'exports')
    await mkdir(files, { recursive: true, mode: 0o700 })
    const storage = diskStorage(files)
    const measured = metrics(pool)

    if (config.role !== 'api') closing.push(await startWorkers(config, log, opened.url, pool, storage, measured))
    if (config.role === 'worker') return { url: null, keys, stop }

    const checkAnswer = answerCheck({ share: config.answerCheckShare, onMismatch: 'log', log })
    const { rateLimit, projectRateLimit } = config
    const deps = {
      pool,
      secrets,
      storage,
      log,
      metrics: measured,
      rateLimit,
      projectRateLimit,
      checkAnswer,
      publicUrl: config.publicUrl ?? '',
    }
    const server: Listening = await listen(deps, config.port)
    closing.push(() => server.close())
    const url = `http://localhost:${server.port}`
    // The port may have been chosen by the system.
    deps.publicUrl ||= url
    return { url, keys, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startWorkers(
  config: Config,
  log: Logger,
  url: string,
  pool: Pool,
  storage: FileStorage,
  measured: Metrics,
): Promise<() => Promise<void>> {
  const queue = await pgBossQueue({ url, onError: error => log.warn({ err: error }, 'pg-boss') })
  const worker = await startWorker({
    pool,
    url,
    queue,
    workflows: [exportWorkflow({ pool, storage, partRows: config.exportPartRows }), exportRetention({ storage })],
    leaseMs: config.leaseMs,
    log,
    onOutcome: measured.outcome,
  })
  const housekeeping = startHousekeeping(pool, log)
  return async () => {
    await housekeeping.stop()
    await worker.stop()
  }
}

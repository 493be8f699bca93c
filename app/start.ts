import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { ProjectKeys } from '../domain/projects/create.ts'
import { bootstrap } from '../domain/projects/create.ts'
import { opensKeys, WRONG_SECRET } from '../domain/projects/keys.ts'
import { secretsFrom } from '../domain/projects/secrets.ts'
import { connect, IDLE_IN_TRANSACTION_MS } from '../store/connect.ts'
import { diskStorage } from '../store/files/disk.ts'
import type { S3Options } from '../store/files/s3-client.ts'
import type { FileStorage } from '../store/files/storage.ts'
import { openDatabase } from '../store/open.ts'
import type { AtCrashPoint } from '../workflows/engine/crash-point.ts'
import { type Config, ConfigError } from './config.ts'
import type { Resources } from './resources.ts'

/** A busy machine may take a moment between two statements. */
const SHORTEST_IDLE_MS = 5_000

/** `keys`: those of the first project, when this start has made it. `url`: where the API answers; null for a worker. */
export type Perennial = { url: string | null; keys: ProjectKeys | null; stop(): Promise<void> }

type Closing = (() => Promise<unknown>)[]

/** A bucket that does not answer keeps nobody from starting, but is not first heard of when an export has failed. */
async function bucket(s3: S3Options, folder: string, log: Logger, closing: Closing): Promise<FileStorage> {
  const { s3Storage } = await import('../store/files/s3.ts')
  const storage = s3Storage({ ...s3, folder })
  closing.push(async () => storage.close())
  storage
    .probe()
    .catch(error => log.warn({ why: (error as Error).message, bucket: s3.bucket }, 'the bucket for export files does not work'))
  return storage
}

/**
 * Starts what the role asks for, on one database. Resolves when it is ready; a failure leaves nothing running. What the role does not
 * need is not even loaded: a worker without the API is 30 MB smaller. `at`: called at named points between two changes of the world.
 */
export async function startPerennial(config: Config, log: Logger, at?: AtCrashPoint): Promise<Perennial> {
  const closing: Closing = []
  const stop = async () => {
    for (const close of closing.splice(0).reverse()) await close().catch(error => log.error({ err: error }, 'stopping'))
  }
  try {
    const opened = await openDatabase({ ...config, log: message => log.info(message) })
    closing.push(() => opened.close())
    // A worker that was frozen in the middle of a record holds the row that its successor must lock: hardly longer than its lease.
    const idleInTransactionMs = Math.min(IDLE_IN_TRANSACTION_MS, Math.max(SHORTEST_IDLE_MS, config.leaseMs))
    const pool = connect({ url: opened.url, name: `perennial-${config.role}`, idleInTransactionMs })
    closing.push(() => pool.end())
    const secrets = secretsFrom(opened.appSecret)
    if (!(await opensKeys(pool, secrets))) throw new ConfigError(WRONG_SECRET)
    const keys = await bootstrap(pool, secrets, config.bootstrap)
    const files = join(config.dataDir, 'exports')
    await mkdir(files, { recursive: true, mode: 0o700 })
    const storage = config.s3 ? await bucket(config.s3, files, log, closing) : diskStorage(files)
    const ground: Resources = { url: opened.url, pool, secrets, storage }

    const served = config.role === 'worker' ? undefined : await (await import('./api.ts')).serve(config, log, ground)
    if (served) closing.push(() => served.close())
    if (config.role !== 'api') {
      const { work } = await import('./worker.ts')
      const publicUrl = config.publicUrl ?? served?.url ?? `http://localhost:${config.port}`
      closing.push(await work(config, log, ground, { publicUrl, countOutcome: served?.countOutcome, at }))
    }
    return { url: served?.url ?? null, keys, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

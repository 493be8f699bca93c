import { randomBytes } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startEmbedded } from './embedded/start.ts'
import { migrate } from './migrate.ts'
import { requirePrivateFile, requirePrivateFolder } from './private-paths.ts'
import { requireSession } from './session.ts'

export type OpenOptions = {
  dataDir: string
  databaseUrl: string | undefined
  appSecret: string | undefined
  log: (message: string) => void
  /** Ends the wait for a migration, with an AbortError. */
  signal?: AbortSignal
}

/** `close` stops the embedded server if this process is the last one that uses it. */
export type Opened = { url: string; appSecret: string; isEmbedded: boolean; close(): Promise<void> }

const SECRET_FILE = 'app_secret'

/**
 * The database of this installation, migrated: the one at `databaseUrl`, or the embedded one in `dataDir`.
 * @throws DataDirRefused, SchemaRefused: the message is the line for the operator.
 */
export async function openDatabase({ dataDir, databaseUrl, appSecret, log, signal }: OpenOptions): Promise<Opened> {
  await requirePrivateFolder(dataDir)
  if (databaseUrl !== undefined) {
    if (appSecret === undefined) throw new TypeError('databaseUrl needs an appSecret')
    await requireSession(databaseUrl)
    await migrate(databaseUrl, { log, ...(signal && { signal }) })
    return { url: databaseUrl, appSecret, isEmbedded: false, close: async () => {} }
  }
  if (appSecret === undefined) await requirePrivateFile(join(dataDir, SECRET_FILE), dataDir)
  const embedded = await startEmbedded({ dataDir, log })
  try {
    await migrate(embedded.url, { log, ...(signal && { signal }) })
    return { url: embedded.url, appSecret: appSecret ?? (await keptSecret(dataDir)), isEmbedded: true, close: () => embedded.stop() }
  } catch (error) {
    await embedded.stop()
    throw error
  }
}

/** The secret that the embedded mode creates and keeps. `link` never replaces a file: two services that start at once both use the first secret. */
async function keptSecret(dataDir: string): Promise<string> {
  const file = join(dataDir, SECRET_FILE)
  const own = `${file}.${process.pid}`
  await writeFile(own, randomBytes(32).toString('base64url'), { mode: 0o600, flush: true })
  await link(own, file).catch(error => {
    if (error.code !== 'EEXIST') throw error
  })
  await rm(own, { force: true })
  return (await readFile(file, 'utf8')).trim()
}

/** Replaces the stored secret by a restored one. */
export async function keepSecret(dataDir: string, secret: string): Promise<void> {
  await mkdir(dataDir, { recursive: true })
  await writeFile(join(dataDir, SECRET_FILE), secret, { mode: 0o600, flush: true })
}

import { realpath } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { unprivilegedAccount } from './account.ts'
import { binariesFor } from './binaries.ts'
import { inspectFolder, markFolder } from './folder.ts'
import { initialise } from './initialise.ts'
import { joinServer, type Membership } from './membership.ts'
import { type LaunchOptions, launch, postmasterOf, pruneLogs } from './postmaster.ts'
import { DataDirRefused } from './refusal.ts'

export { DataDirRefused } from './refusal.ts'

/** `url`: connection string of the database "perennial", with password. `stop`: leaves the server; the last service on the folder stops it. */
export type Embedded = { url: string; stop(): Promise<void> }

type Cluster = LaunchOptions & { password: string; log: (message: string) => void }

/**
 * The embedded Postgres of a folder: creates it, starts it, or joins the server that already runs there (of another service, or left
 * behind by a service that was killed). Resolves when the database "perennial" takes connections.
 * @throws DataDirRefused when the folder or the machine cannot be used; its message is the line to print.
 */
export async function startEmbedded(options: { dataDir: string; log: (message: string) => void }): Promise<Embedded> {
  const { log } = options
  const given = resolve(options.dataDir)
  await inspectFolder(given)
  const account = await unprivilegedAccount(join(given, 'postgres'))
  const binaries = await binariesFor(account, given)
  await markFolder(given, binaries.major)
  const dataDir = await realpath(given)
  const password = await initialise(dataDir, binaries, account, log)
  const cluster: Cluster = { cluster: join(dataDir, 'postgres'), postgres: binaries.postgres, account, password, log }

  const stopping = new AbortController()
  let membership = await startOrJoin(cluster, stopping.signal)
  const { port } = membership.server
  const rejoining = rejoin()
  const pruning = setInterval(() => pruneLogs(cluster.cluster), 60_000)
  pruning.unref()

  // When a server dies under a living service (the kernel's out-of-memory killer), the service starts it again at the same port.
  async function rejoin() {
    for (;;) {
      await membership.lost
      while (!stopping.signal.aborted) {
        try {
          membership = await startOrJoin({ ...cluster, port }, stopping.signal)
          log(`the connection to the embedded Postgres was lost and is back, on port ${membership.server.port} (was ${port})`)
          break
        } catch (error) {
          if (!stopping.signal.aborted) log((error as Error).message)
          await sleep(1000, undefined, { signal: stopping.signal }).catch(() => undefined)
        }
      }
      if (stopping.signal.aborted) return
    }
  }

  let stopped: Promise<void> | undefined
  const stop = async () => {
    clearInterval(pruning)
    stopping.abort()
    const left = membership
    await left.leave()
    await rejoining
    if (membership !== left) await membership.leave() // the server came back during the stop
  }
  return {
    url: `postgres://perennial:${password}@127.0.0.1:${port}/perennial?sslmode=disable`,
    stop: () => {
      stopped ??= stop()
      return stopped
    },
  }
}

// Reasons that end by themselves: another service starts or stops a server, or another program took the port after the check.
const TEMPORARY = /holds the folder|lock file|shared memory block|TCP\/IP socket/

// Other services start, stop and join a server at the same time: look again until there is a server to join.
async function startOrJoin(options: Cluster, signal: AbortSignal): Promise<Membership> {
  const { cluster, password, log } = options
  let obstacle = ''
  let failures = 0
  let limit = performance.now() + 30_000
  while (performance.now() < limit && failures < 3) {
    const server = await postmasterOf(cluster)
    if (server === undefined) {
      signal.throwIfAborted()
      const reason = await launch(options)
      if (reason === undefined) {
        log(`started Postgres in ${cluster}`)
        await pruneLogs(cluster)
        continue
      }
      obstacle = reason
      if (!TEMPORARY.test(reason)) failures++
    } else if (server.ready) {
      const joined = await joinServer(server, cluster, password)
      if (joined.is === 'joined') return joined.membership
      obstacle = joined.why
      if (joined.is === 'foreign') limit = Math.min(limit, performance.now() + 3000)
      signal.throwIfAborted()
    } else limit = Math.max(limit, performance.now() + 10_000) // recovery takes time, and so does a stop
    await sleep(20)
  }
  throw new DataDirRefused(
    `Postgres does not start in ${cluster}: ${obstacle}. See its log in ${join(cluster, 'log')}, or set DATABASE_URL.`,
  )
}

import { realpath } from 'node:fs/promises'
import { join as joinPath, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { unprivilegedAccount } from './account.ts'
import { binariesFor } from './binaries.ts'
import { claim, inspect } from './folder.ts'
import { initialise } from './initialise.ts'
import { pruneLogs } from './logs.ts'
import { join, type Membership } from './membership.ts'
import { type Ground, launch, postmasterOf } from './postmaster.ts'
import { DataDirRefused } from './refuse.ts'

export { DataDirRefused } from './refuse.ts'

/** `url`: connection string of the database "perennial", with password. `stop`: leaves; the last service on the folder stops the server. */
export type Embedded = { url: string; stop(): Promise<void> }

type Place = Ground & { password: string; log: (message: string) => void }

/**
 * The embedded Postgres of a folder: makes it, starts it, or joins the server that runs there already (of another service, or
 * left behind by one that was killed). Resolves when the database "perennial" takes connections.
 * @throws DataDirRefused when the folder or the machine cannot carry it; its message is the line to print.
 */
export async function startEmbedded(options: { dataDir: string; log: (message: string) => void }): Promise<Embedded> {
  const { log } = options
  const given = resolve(options.dataDir)
  await inspect(given)
  const account = await unprivilegedAccount(joinPath(given, 'postgres'))
  const binaries = await binariesFor(account, given)
  await claim(given, binaries.major)
  const dataDir = await realpath(given)
  const password = await initialise(dataDir, binaries, account, log)
  const place: Place = { cluster: joinPath(dataDir, 'postgres'), postgres: binaries.postgres, account, password, log }

  const stopping = new AbortController()
  let membership = await attend(place, stopping.signal)
  const { port } = membership.server
  const tending = tend()
  const pruning = setInterval(() => pruneLogs(place.cluster), 60_000)
  pruning.unref()

  // A server that dies under a living service (the kernel's out-of-memory killer) is started again where the service expects it.
  async function tend() {
    for (;;) {
      await membership.lost
      while (!stopping.signal.aborted) {
        try {
          membership = await attend({ ...place, port }, stopping.signal)
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
    await tending
    if (membership !== left) await membership.leave() // it came back while we left
  }
  return {
    url: `postgres://perennial:${password}@127.0.0.1:${port}/perennial?sslmode=disable`,
    stop: () => {
      stopped ??= stop()
      return stopped
    },
  }
}

// What passes by itself: another service starts or stops a server, or a program took the port since we looked.
const passing = /holds the folder|lock file|shared memory block|TCP\/IP socket/

// Starting, stopping and being joined by others go on at the same time: look again until there is a server that has us.
async function attend(place: Place, signal: AbortSignal): Promise<Membership> {
  let obstacle = ''
  let failures = 0
  let limit = performance.now() + 30_000
  while (performance.now() < limit && failures < 3) {
    const server = await postmasterOf(place.cluster)
    if (server === undefined) {
      signal.throwIfAborted()
      const reason = await launch(place)
      if (reason === undefined) {
        place.log(`started Postgres in ${place.cluster}`)
        await pruneLogs(place.cluster)
        continue
      }
      obstacle = reason
      if (!passing.test(reason)) failures++
    } else if (server.ready) {
      const joined = await join(server, place.cluster, place.password)
      if (joined.is === 'joined') return joined.membership
      obstacle = joined.why
      if (joined.is === 'foreign') limit = Math.min(limit, performance.now() + 3000)
      signal.throwIfAborted()
    } else limit = Math.max(limit, performance.now() + 10_000) // recovery takes its time, and stopping too
    await sleep(20)
  }
  throw new DataDirRefused(
    `Postgres does not start in ${place.cluster}: ${obstacle}. See its log in ${joinPath(place.cluster, 'log')}, or set DATABASE_URL.`,
  )
}

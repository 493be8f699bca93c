// The Postgres of the system's own package, which is older than the embedded one: its planner has other plans, and what the service says to
// the database must be right on both.
import { access, chmod, chown, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { unprivilegedAccount } from '../../store/embedded/account.ts'
import { type Account, commandAs, runCommand } from '../../store/embedded/command.ts'
import { pathFor } from '../../store/embedded/folder-path.ts'
import { launch, postmasterOf, shutDown } from '../../store/embedded/postmaster.ts'
import { requirePackage } from './debian-package.ts'
import { isRun } from './files-of-run.ts'
import { prepareServer, type ServerAddress } from './suite-server.ts'
import { executeAll } from './superuser.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The server of the system's package; absent where no file that needs it is among those of this run. */
    debian: ServerAddress
  }
}

const INSTALLED = '/usr/lib/postgresql'
const OLDEST_SUPPORTED = 15
/** The package creates and starts a cluster of its own unless this file tells otherwise. */
const CREATION = { folder: '/etc/postgresql-common', file: 'createcluster.conf', text: 'create_main_cluster = false\n' }
/** The files that need this server. */
const NEEDED_BY = /\/test\/plans\//

/** The folder of the oldest supported version that is installed. */
async function binaries(): Promise<{ folder: string; major: number } | undefined> {
  const majors = (await readdir(INSTALLED).catch(() => [])).map(Number).filter(major => major >= OLDEST_SUPPORTED)
  for (const major of majors.sort((a, b) => a - b)) {
    const folder = join(INSTALLED, String(major), 'bin')
    const isWhole = await access(join(folder, 'initdb')).then(
      () => true,
      () => false,
    )
    if (isWhole) return { folder, major }
  }
  return undefined
}

/** The programs of the oldest supported version; the package is installed where it is missing. */
export const installedPostgres = async (): Promise<{ folder: string; major: number }> => {
  await requirePackage({
    what: `a Postgres in ${INSTALLED}, of version ${OLDEST_SUPPORTED} or later`,
    packageName: 'postgresql',
    isThere: async () => (await binaries()) !== undefined,
    async beforeInstall() {
      await mkdir(CREATION.folder, { recursive: true })
      await writeFile(join(CREATION.folder, CREATION.file), CREATION.text, { flag: 'wx' }).catch(() => {})
    },
  })
  return (await binaries())!
}

export async function createCluster(initdb: string, cluster: string, account: Account | undefined): Promise<void> {
  await mkdir(cluster, { mode: 0o700 })
  if (account) await chown(cluster, account.uid, account.gid)
  const options = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync', '--no-instructions']
  const { code, output } = await runCommand(
    commandAs(account, cluster, initdb, [`--pgdata=${await pathFor(account, cluster)}`, ...options]),
  )
  if (code !== 0) throw new Error(`no cluster of ${initdb}: ${output}`)
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (!(await isRun(project, NEEDED_BY))) return
  const { folder, major } = await installedPostgres()
  const parent = await mkdtemp(join(tmpdir(), 'perennial-debian-'))
  // The server runs under another account. Up to 15 it cannot start in a folder whose parents that account may not pass: it changes to the
  // folder of its program and back.
  await chmod(parent, 0o711)
  const cluster = join(parent, 'postgres')
  const account = await unprivilegedAccount(cluster)
  await createCluster(join(folder, 'initdb'), cluster, account)
  const failure = await launch({ cluster, postgres: join(folder, 'postgres'), account })
  if (failure) throw new Error(`Postgres ${major} does not start: ${failure}`)
  const server = (await postmasterOf(cluster))!
  const address = (user: string) => `postgres://${user}@127.0.0.1:${server.port}/postgres?sslmode=disable`
  const addresses = { url: address('perennial'), superuser: address('postgres'), major }
  // As the service's own role of the embedded server, which is no superuser.
  await executeAll(addresses.superuser, ['create role perennial login in role pg_read_all_settings'])
  await prepareServer(addresses)
  project.provide('debian', addresses)
  return async () => {
    await shutDown(server, cluster)
    await rm(parent, { recursive: true, force: true })
  }
}

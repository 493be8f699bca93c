import { randomBytes } from 'node:crypto'
import { chown, mkdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { getuid } from 'node:process'
import { handOver } from './account.ts'
import type { Binaries } from './binaries.ts'
import { type Account, commandAs, runCommand } from './command.ts'
import { DRAFT_PREFIX, requireMajor, syncFolder, writeSynced } from './folder.ts'
import { pathFor } from './folder-path.ts'
import { DataDirRefused, errno, refused } from './refusal.ts'
import { removeAbandoned, temporaryName } from './temporary.ts'

/** The files with the passwords of the service's own role and of the role `postgres`, a superuser, for the operator. */
const [PASSWORD, SUPERUSER_PASSWORD] = ['password', 'superuser_password']

/**
 * Creates the cluster `dataDir/postgres` unless it exists, and returns the password of its user "perennial".
 * The cluster appears complete or not at all: it is created under another name, with its password inside, and renamed. Of two services
 * that create one at the same moment, one loses the rename and uses the cluster of the other.
 * @throws DataDirRefused when the cluster cannot be created, or the existing one cannot be used.
 */
export async function initialise(
  dataDir: string,
  binaries: Binaries,
  account: Account | undefined,
  log: (message: string) => void,
): Promise<string> {
  await removeAbandoned(dataDir, DRAFT_PREFIX)
  const cluster = join(dataDir, 'postgres')
  try {
    const existing = await stat(cluster).catch(error => {
      if (errno(error) !== 'ENOENT') throw error
    })
    if (existing === undefined) {
      log(`creating a database in ${cluster}`)
      await create(dataDir, binaries, account)
    } else if (account !== undefined && existing.uid === 0) await handOver(cluster, account) // root copied it back from a backup
  } catch (error) {
    throw refused(dataDir, error)
  }
  return inspectCluster(cluster, binaries)
}

async function create(dataDir: string, binaries: Binaries, account: Account | undefined) {
  const draft = join(dataDir, temporaryName(DRAFT_PREFIX))
  const cluster = join(draft, 'cluster')
  const passwords = [PASSWORD, SUPERUSER_PASSWORD].map(name => join(draft, name))
  try {
    await mkdir(draft, { mode: 0o700 })
    await mkdir(cluster, { mode: 0o700 })
    const password = randomPassword()
    await writeSynced(passwords[0]!, `${password}\n`)
    await writeSynced(passwords[1]!, `${randomPassword()}\n`)
    if (account !== undefined) for (const path of [draft, cluster, ...passwords]) await chown(path, account.uid, account.gid)
    const failure = await fill(cluster, binaries, account, password)
    if (failure !== undefined) throw new DataDirRefused(`No database could be created in ${dataDir}: ${failure}.`)
    for (const path of passwords) await rename(path, join(cluster, basename(path)))
    await syncFolder(cluster)
    await rename(cluster, join(dataDir, 'postgres')).catch(error => {
      if (!['ENOTEMPTY', 'EEXIST'].includes(errno(error))) throw error
    })
    await syncFolder(dataDir)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

// Nothing is synced until all files are written. The single-user server creates the database: so all steps take as long as initdb alone.
// A running server would take 0.3 s more.
async function fill(
  cluster: string,
  { initdb, postgres }: Binaries,
  account: Account | undefined,
  password: string,
): Promise<string | undefined> {
  const path = await pathFor(account, cluster)
  const steps: [string, string[], string?][] = [
    [initdb, [`--pgdata=${path}`, ...INITDB_OPTIONS, '--no-sync', '--no-instructions']],
    [postgres, ['--single', '-F', '-D', path, 'postgres'], databaseOf(password)],
    [initdb, [`--pgdata=${path}`, '--sync-only']],
  ]
  for (const [file, args, input] of steps) {
    const { code, output } = await runCommand(commandAs(account, cluster, file, args), input)
    if (code !== 0 || / (ERROR|FATAL|PANIC): /.test(output)) return reasonOf(output)
  }
  return undefined
}

const randomPassword = () => randomBytes(24).toString('base64url')

// The role owns its database and is no superuser: a statement that a fault lets through cannot read files or run programs. Joining a server
// reads the setting `data_directory`. The single-user server takes one statement a line.
const databaseOf = (password: string) =>
  [
    `create role perennial login password '${password}' in role pg_read_all_settings`,
    'create database perennial owner perennial strategy file_copy',
  ].join('\n')

const INITDB_OPTIONS = [
  '--username=postgres',
  `--pwfile=../${SUPERUSER_PASSWORD}`, // the account may not be able to pass the folders above
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
]

function reasonOf(output: string): string {
  const reason =
    output.match(/(?:error|ERROR|FATAL|PANIC): .*/)?.[0] ?? output.match(/initdb: .*/)?.[0] ?? output.trim().replaceAll('\n', ' ')
  // Happens in a container that runs under a user id without a user.
  if (!reason.includes('could not look up effective user ID')) return reason
  return `${reason}. Run as a user that /etc/passwd knows, or set DATABASE_URL to a Postgres of your own`
}

async function inspectCluster(cluster: string, binaries: Binaries): Promise<string> {
  const parts = ['PG_VERSION', PASSWORD].map(name => readFile(join(cluster, name), 'utf8'))
  const [version = '', password = ''] = await Promise.all(parts).catch(async error => {
    if (errno(error) === 'ENOENT')
      throw new DataDirRefused(
        `The database in ${cluster} is not whole (${error.path} is missing): restore it from a backup, or remove ${cluster}.`,
      )
    throw refused(cluster, error)
  })
  requireMajor(cluster, Number.parseInt(version, 10), binaries.major)
  const { uid } = await stat(cluster)
  if (getuid?.() !== 0 && uid !== getuid?.())
    throw new DataDirRefused(`The database in ${cluster} belongs to another user (uid ${uid}): start as that user or as root.`)
  return password.trim()
}

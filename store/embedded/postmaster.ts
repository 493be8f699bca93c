import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { kill, platform } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Account, commandAs, runCommand } from './command.ts'
import { pathFor } from './folder-path.ts'
import { bornAt } from './process.ts'

/** A live server of a folder. `pid` and `born` identify its first process; `ready` is false while the server recovers or stops. */
export type Postmaster = { pid: number; born: string; port: number; ready: boolean }

/** The parameters of a start of a server. `port`: the one to try first. */
export type LaunchOptions = { cluster: string; postgres: string; account: Account | undefined; port?: number }

/** Settings of the server. Durability (fsync, synchronous_commit, full_page_writes) keeps the default of Postgres: on. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '', // the path of a socket has at most 107 bytes, a DATA_DIR may have more
  max_connections: '300', // a service under load has some 50 open, and one folder may have several services
  shared_buffers: '128MB',
  max_wal_size: '2GB',
  wal_compression: 'on',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // A new file every 10 MB. The services delete the oldest files (pruneLogs).
  logging_collector: 'on',
  log_directory: 'log',
  log_filename: 'postgres-%Y-%m-%d_%H%M%S.log',
  log_rotation_size: '10MB',
  log_rotation_age: '0',
  // The details of an error are rows and keys: the data of customers.
  log_error_verbosity: 'terse',
}

/** Deletes all log files of the server but the newest: Postgres starts a new file every 10 MB and deletes none. The names sort by time. */
export async function pruneLogs(cluster: string, keep = 5): Promise<void> {
  const folder = join(cluster, 'log')
  const names = (await readdir(folder).catch(() => [])).filter(name => /^postgres-.*\.log$/.test(name)).sort()
  for (const name of names.slice(0, -keep)) await rm(join(folder, name), { force: true }).catch(() => undefined)
}

/** The live server of the folder, if there is one. postmaster.pid alone is no proof: another program may have the number by now. */
export async function postmasterOf(cluster: string): Promise<Postmaster | undefined> {
  const lines = (await pidFile(cluster))?.split('\n')
  const pid = Number(lines?.[0])
  const born = pid > 0 ? bornAt(pid) : undefined
  if (lines === undefined || born === undefined || !(await worksIn(pid, cluster))) return undefined
  return { pid, born, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' }
}

const pidFile = (cluster: string) => readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => undefined)

async function worksIn(pid: number, cluster: string): Promise<boolean> {
  // Without /proc only the name of the program is known; `show data_directory` decides after the connect.
  if (platform !== 'linux')
    return /\bpostgres$/.test((await runCommand(commandAs(undefined, '/', 'ps', ['-o', 'comm=', '-p', String(pid)]))).output.trim())
  const [theirs, ours] = await Promise.all([`/proc/${pid}/cwd`, cluster].map(path => stat(path).catch(() => undefined)))
  return theirs !== undefined && theirs.dev === ours?.dev && theirs.ino === ours.ino
}

// The server and all its processes hold the kernel's lock on the folder itself. The lock leaves no file, ends with the last process, and
// makes it safe to remove a stale postmaster.pid. The check of Postgres itself has a gap (two starts may both find the file stale) and
// does not see the processes of another container.
const FLOCK = platform === 'linux' ? ['/usr/bin/flock', '/bin/flock'].find(path => existsSync(path)) : undefined
/** Exit code of flock when the folder is locked. */
const IS_LOCKED = 75

/**
 * Starts a server in its own process session, so that a Ctrl-C for the service does not stop the server too.
 * Resolves when the server takes connections, or with the reason why it ended before. Losing against another start is such a reason.
 */
export async function launch(options: LaunchOptions, flock = FLOCK): Promise<string | undefined> {
  const { cluster, account } = options
  const isStale = (await pidFile(cluster)) !== undefined
  const port = await freePort(options.port)
  const command = [
    ...(isStale ? ['/bin/sh', '-c', 'rm -f postmaster.pid; exec "$0" "$@"'] : []),
    options.postgres,
    ...['-D', await pathFor(account, cluster), '-p', String(port)],
    ...Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
  const [program = '', ...rest] = command
  const asAccount = commandAs(account, cluster, program, rest)
  const plain = [asAccount.file, ...asAccount.args]
  const [file = '', ...args] = flock === undefined ? plain : [flock, '-n', '-E', String(IS_LOCKED), '-F', cluster, ...plain]
  const child = spawn(file, args, { ...asAccount.options, detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
  let output = ''
  let ended: string | undefined
  child.stderr?.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  child.on('error', error => {
    ended = error.message
  })
  child.on('close', code => {
    ended = code === IS_LOCKED ? 'another server holds the folder' : (output.match(/(?:FATAL|PANIC): .*/)?.[0] ?? `it ended with ${code}`)
  })
  while (ended === undefined) {
    const server = await postmasterOf(cluster)
    if (server?.ready === true && server.pid === child.pid) break
    await sleep(5)
  }
  // From here on the server writes to its own log files.
  child.stderr?.destroy()
  child.unref()
  // Some network file systems do not support this lock.
  if (output.startsWith('flock: ')) return launch(options, undefined)
  return ended
}

async function freePort(wanted = 0): Promise<number> {
  const server = createServer()
  const port = await new Promise<number>((resolve, reject) => {
    server.once('error', reject)
    server.listen(wanted, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
  }).catch(() => undefined)
  if (port === undefined) return freePort()
  return new Promise(resolve => server.close(() => resolve(port)))
}

/** Asks the server to stop (it ends the sessions and writes a checkpoint) and waits until all its processes have ended. False: not within a minute. */
export async function shutDown({ pid, born }: Postmaster, cluster: string): Promise<boolean> {
  if (bornAt(pid) === born) kill(pid, 'SIGINT')
  const limit = performance.now() + 60_000
  // The process that writes the log ends some milliseconds after the first process. But the lock may belong to the next server already.
  while (bornAt(pid) === born || ((await isLocked(cluster)) && (await postmasterOf(cluster)) === undefined)) {
    if (performance.now() > limit) return false
    await sleep(5)
  }
  return true
}

const isLocked = async (cluster: string) =>
  FLOCK !== undefined &&
  (await runCommand(commandAs(undefined, '/', FLOCK, ['-n', '-E', String(IS_LOCKED), cluster, 'true']))).code === IS_LOCKED

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { kill, platform } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { bornAt } from './process.ts'
import { pathFor } from './reach.ts'
import { type Account, commandAs, run } from './run.ts'
import { settings } from './settings.ts'

/** A live server of a folder. `pid` and `born` name its first process, `ready` is false while it recovers or stops. */
export type Postmaster = { pid: number; born: string; port: number; ready: boolean }

/** What it takes to start a server. `port`: the one to try first. */
export type Ground = { cluster: string; postgres: string; account: Account | undefined; port?: number }

/** The server that lives in the folder, if one does. A postmaster.pid alone says little: its number may be of another program by now. */
export async function postmasterOf(cluster: string): Promise<Postmaster | undefined> {
  const lines = (await pidFile(cluster))?.split('\n')
  const pid = Number(lines?.[0])
  const born = pid > 0 ? bornAt(pid) : undefined
  if (lines === undefined || born === undefined || !(await worksIn(pid, cluster))) return undefined
  return { pid, born, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' }
}

const pidFile = (cluster: string) => readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => undefined)

async function worksIn(pid: number, cluster: string): Promise<boolean> {
  // Without /proc only the program's name is known; `show data_directory` decides when we connect.
  if (platform !== 'linux')
    return /\bpostgres$/.test((await run(commandAs(undefined, '/', 'ps', ['-o', 'comm=', '-p', String(pid)]))).output.trim())
  const [theirs, ours] = await Promise.all([`/proc/${pid}/cwd`, cluster].map(path => stat(path).catch(() => undefined)))
  return theirs !== undefined && theirs.dev === ours?.dev && theirs.ino === ours.ino
}

// The server and all its processes hold the kernel's lock on the folder itself: it leaves no file, ends with the last of them, and makes
// removing a stale postmaster.pid safe. Postgres's own check has a gap (two starts may both find it stale) and sees no other container.
const flock = platform === 'linux' ? ['/usr/bin/flock', '/bin/flock'].find(path => existsSync(path)) : undefined
const locked = 75

/**
 * Starts a server in its own process session, so that a Ctrl-C for the service does not stop it too.
 * Resolves when it takes connections, or with the reason why it ended before. Losing against another start is such a reason.
 */
export async function launch(ground: Ground, lock = flock): Promise<string | undefined> {
  const { cluster, account } = ground
  const stale = (await pidFile(cluster)) !== undefined
  const port = await freePort(ground.port)
  const command = [
    ...(stale ? ['/bin/sh', '-c', 'rm -f postmaster.pid; exec "$0" "$@"'] : []),
    ground.postgres,
    ...['-D', await pathFor(account, cluster), '-p', String(port)],
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
  const [program = '', ...rest] = command
  const { file, args, options } = commandAs(account, cluster, program, rest)
  const whole = lock === undefined ? [file, ...args] : [lock, '-n', '-E', String(locked), '-F', cluster, file, ...args]
  const child = spawn(whole[0] ?? '', whole.slice(1), { ...options, detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
  let output = ''
  let ended: string | undefined
  child.stderr?.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  child.on('error', error => {
    ended = error.message
  })
  child.on('close', code => {
    ended = code === locked ? 'another server holds the folder' : (output.match(/(?:FATAL|PANIC): .*/)?.[0] ?? `it ended with ${code}`)
  })
  while (ended === undefined) {
    const server = await postmasterOf(cluster)
    if (server?.ready === true && server.pid === child.pid) break
    await sleep(5)
  }
  // From here on it is on its own: its log goes to its own files.
  child.stderr?.destroy()
  child.unref()
  // Some network file systems know no such lock.
  if (output.startsWith('flock: ')) return launch(ground, undefined)
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

/** Asks the server to stop (sessions are ended, a checkpoint written) and waits until none of its processes is left. False: not after a minute. */
export async function shutDown({ pid, born }: Postmaster, cluster: string): Promise<boolean> {
  if (bornAt(pid) === born) kill(pid, 'SIGINT')
  const limit = performance.now() + 60_000
  // The process that writes the log outlives the first one by some milliseconds; but the lock may be of a successor already.
  while (bornAt(pid) === born || ((await isLocked(cluster)) && (await postmasterOf(cluster)) === undefined)) {
    if (performance.now() > limit) return false
    await sleep(5)
  }
  return true
}

const isLocked = async (cluster: string) =>
  flock !== undefined && (await run(commandAs(undefined, '/', flock, ['-n', '-E', String(locked), cluster, 'true']))).code === locked

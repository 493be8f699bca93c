import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdtemp, readdir, readFile, realpath, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, onTestFinished } from 'vitest'
import type { Account } from '../../store/embedded/command.ts'
import { startEmbedded } from '../../store/embedded/start.ts'

export type Service = {
  pid: number
  url: string
  logs: string[]
  /** Resolves when it has ended, with all it said. */
  ended: Promise<string>
  kill(signal: NodeJS.Signals): void
  stop(): Promise<string>
}

export type Where = { script?: string; runtime?: string; as?: Account }

const root = dirname(dirname(import.meta.dirname))

/** A folder that ends with the test, and with it whatever server lives in it. */
export async function temporaryFolder(mode = 0o711): Promise<string> {
  const folder = await newFolder(mode)
  onTestFinished(async () => {
    await endAll(folder)
    await rm(folder, { recursive: true, force: true })
  })
  return folder
}

let made: Promise<string> | undefined
afterAll(async () => {
  if (made !== undefined) await rm(await made, { recursive: true, force: true })
})

/** A folder with a database, made once per test file (that takes a second). Every test finds it without a server. */
export async function madeFolder(): Promise<string> {
  made ??= make()
  const folder = await made
  onTestFinished(() => endAll(folder))
  return folder
}

async function make() {
  const folder = await newFolder(0o711)
  await (await startEmbedded({ dataDir: folder, log: () => undefined })).stop()
  return folder
}

async function newFolder(mode: number) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'perennial-test-')))
  await chmod(folder, mode)
  return folder
}

async function endAll(folder: string) {
  for (const pid of await processesBelow(folder)) kill(pid, 'SIGKILL')
  await until(async () => (await processesBelow(folder)).length === 0)
}

export const kill = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch {} // it is gone already
}

/** All processes that work in the folder or below it: every process of a server does, in its cluster. */
export async function processesBelow(folder: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
  const places = await Promise.all(pids.map(pid => realpath(`/proc/${pid}/cwd`).catch(() => '')))
  return pids.filter((_, n) => places[n]?.startsWith(folder)).map(Number)
}

/** The number of the server's first process. */
export const serverOf = async (dataDir: string): Promise<number> =>
  Number.parseInt(await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10)

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Starts a service in a process group of its own. Rejects with its own line when it refuses the folder. */
export async function service(dataDir: string, where: Where = {}): Promise<Service> {
  const { ready, ...running } = begin(dataDir, where)
  return { ...running, url: await ready }
}

/** The same, without waiting until it is ready. */
export function begin(dataDir: string, { script = join(root, 'test/embedded/service.ts'), runtime = process.execPath, as }: Where = {}) {
  const args = 'Deno' in globalThis ? ['run', '-A', script, dataDir] : [script, dataDir]
  const command =
    as === undefined ? [runtime, ...args] : ['setpriv', `--reuid=${as.uid}`, `--regid=${as.gid}`, '--clear-groups', runtime, ...args]
  const [file = '', ...rest] = command
  const env = { ...process.env, HOME: '/nonexistent', NO_COLOR: '1' }
  const child = spawn(file, rest, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, cwd: dirname(script), env })
  return { pid: child.pid ?? 0, kill: (signal: NodeJS.Signals) => kill(child.pid ?? 0, signal), ...listen(child) }
}

function listen(child: ChildProcess) {
  const logs: string[] = []
  let output = ''
  let partial = ''
  const ended = new Promise<string>(resolve => child.on('close', () => resolve(output)))
  const ready = new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk
      const lines = (partial + chunk).split('\n')
      partial = lines.pop() ?? ''
      for (const line of lines.filter(line => line.startsWith('{'))) {
        const message = JSON.parse(line)
        if (message.log) logs.push(message.log)
        if (message.url) resolve(message.url)
        if (message.refused) reject(new Error(message.refused))
      }
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      output += chunk
    })
    child.on('close', () => reject(new Error(`the service ended: ${output}`)))
  })
  ready.catch(() => undefined)
  const stop = () => {
    kill(child.pid ?? 0, 'SIGTERM')
    return ended
  }
  return { logs, ended, ready, stop }
}

export async function query<T = Record<string, string>>(url: string, text: string): Promise<T[]> {
  const client = new pg.Client(url)
  client.on('error', () => undefined)
  await client.connect()
  return client.query(text).then(
    result => client.end().then(() => result.rows as T[]),
    error => client.end().then(() => Promise.reject(error)),
  )
}

/** Asks until the answer is yes. */
export async function until(answer: () => Promise<boolean>, seconds = 10): Promise<void> {
  const limit = performance.now() + seconds * 1000
  while (!(await answer())) {
    if (performance.now() > limit) throw new Error(`not within ${seconds} s: ${answer}`)
    await sleep(5)
  }
}

/** Leaves a row that `kept` finds as long as nothing is lost. */
export const keep = (url: string) => query(url, 'drop table if exists kept; create table kept as select 7 as n')
export const kept = (url: string) => query<{ n: number }>(url, 'select n from kept').then(rows => rows[0]?.n)

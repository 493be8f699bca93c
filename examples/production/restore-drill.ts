// A restore drill: restores a backup into a folder of its own, starts the service there, says what is in it, and removes it. The installation that
// made the backup is not touched, and nothing is sent: no worker is started.
//
//   npm run drill -- ./backup
//
// APP_SECRET   of the installation, where the backup does not have it with it
// DRILL_KEYS   Secret Keys, separated by commas: the drill then shows the ledger of their environments
// TMPDIR       where the restored database goes, which needs some three times the size of the backup
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process, { env, exit } from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PROGRAM = join(ROOT, 'start.mjs')
const START_MS = 120_000
const YEAR_MS = 365 * 86_400_000

/** None of the installation's own addresses: the drill must not reach its database, its queue or its mail server. */
const own = (folder: string, more: Record<string, string> = {}) => {
  const { PATH = '', HOME = '', TMPDIR, APP_SECRET } = env
  return { PATH, HOME, ...(TMPDIR && { TMPDIR }), ...(APP_SECRET && { APP_SECRET }), DATA_DIR: folder, ...more }
}

class Failed extends Error {}

async function cli(folder: string, ...args: string[]): Promise<string> {
  const result = await promisify(execFile)(process.execPath, [PROGRAM, 'cli', ...args], { env: own(folder), maxBuffer: 2 ** 26 }).catch(
    error => {
      throw new Failed(`"${args.join(' ')}" ended with ${error.code}: ${String(error.stderr || error.message).trim()}`)
    },
  )
  return result.stdout.trim()
}

async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const begin = performance.now()
  const result = await work()
  console.log(`${what}: ${((performance.now() - begin) / 1000).toFixed(1)} s`)
  return result
}

/** Starts the API alone, and resolves to its address. */
function started(child: ChildProcess): Promise<string> {
  let text = ''
  return new Promise((found, failed) => {
    const refuse = (why: string) => failed(new Failed(`the restored service ${why}: ${text.trim()}`))
    const timer = setTimeout(() => refuse('does not start'), START_MS)
    const read = (chunk: Buffer) => {
      text += chunk
      const [, url] = /Perennial is ready at (\S+)/.exec(text) ?? []
      if (url === undefined) return
      clearTimeout(timer)
      found(url)
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('close', code => refuse(`ended with ${code}`))
  })
}

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
async function get(url: string, path: string, key?: string): Promise<any> {
  const response = await fetch(url + path, key === undefined ? {} : { headers: { Authorization: `Bearer ${key}` } })
  const body = await response.json()
  if (!response.ok) throw new Failed(`GET ${path} was answered ${response.status}: ${JSON.stringify(body)}`)
  return body
}

async function showLedger(url: string, key: string): Promise<void> {
  const from = new Date(Date.now() - YEAR_MS).toISOString().replace(/\.\d+/, '')
  const { data } = await get(url, `/v4/ledger?from=${from}`, key)
  console.log(`\nLedger of the key …${key.slice(-4)}: what was promised in the year until the backup, and what became of it`)
  for (const { kind, promised, kept, declined, broken, outstanding } of data)
    console.log(
      `  ${kind}: ${promised} promised, ${kept} kept, ${declined} declined, ${broken} broken, ${outstanding} go on after a restore`,
    )
}

/** The service that the drill has started. */
let running: ChildProcess | undefined

async function drill(backup: string, folder: string): Promise<void> {
  console.log(await timed('verified', () => cli(folder, 'backup', 'verify', backup)))
  await timed('restored', () => cli(folder, 'restore', backup))
  const more = { ROLE: 'api', PORT: '0', HOST: '127.0.0.1', CONSOLE: 'off', LOG_LEVEL: 'error' }
  const child = spawn(process.execPath, [PROGRAM], { env: own(folder, more), stdio: ['ignore', 'pipe', 'pipe'] })
  running = child
  const ended = new Promise(done => child.once('close', done))
  try {
    const url = await timed('started', () => started(child))
    await get(url, '/readyz')
    console.log(`\n${await cli(folder, 'project', 'list')}`)
    for (const key of (env.DRILL_KEYS ?? '').split(',').filter(Boolean)) await showLedger(url, key)
  } finally {
    child.kill('SIGTERM')
    await ended
  }
}

const [given] = process.argv.slice(2)
if (given === undefined) {
  console.error('restore drill: name the folder of a backup')
  exit(1)
}
const begin = performance.now()
const folder = await mkdtemp(join(tmpdir(), 'perennial-drill-'))
// The folder has a whole database with its secrets.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, async () => {
    running?.kill('SIGTERM')
    if (running && running.exitCode === null) await new Promise(done => running?.once('close', done))
    await rm(folder, { recursive: true, force: true })
    exit(130)
  })
try {
  await drill(resolve(given), folder)
  console.log(
    `\nThe backup can be restored. From the backup to a service that answers: ${Math.round((performance.now() - begin) / 1000)} s.`,
  )
} catch (error) {
  if (!(error instanceof Failed)) throw error
  console.error(`restore drill: ${error.message}`)
  process.exitCode = 1
} finally {
  await rm(folder, { recursive: true, force: true })
}

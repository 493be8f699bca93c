// PgBouncer with fewer sessions than a process may need: a start says so, and what finds no session is told when to come back.
import { spawn } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../../store/connect.ts'
import { freshDatabase } from '../harness/database.ts'
import { requireCommand } from '../harness/debian-package.ts'
import { run } from '../harness/process.ts'
import { freePort } from '../harness/redis.ts'
import { until } from '../harness/until.ts'

const KEY = `sk_${'k'.repeat(40)}`
const SESSIONS = 10

/** PgBouncer in session mode before the database. Resolves to its address. */
async function pgbouncer(url: string, sessions: number): Promise<string> {
  await requireCommand('pgbouncer')
  const folder = await mkdtemp(join(tmpdir(), 'perennial-pgbouncer-'))
  await chmod(folder, 0o755)
  const { hostname, port: serverPort, pathname, username, password } = new URL(url)
  const port = await freePort()
  const settings = [
    '[databases]',
    `${pathname.slice(1)} = host=${hostname} port=${serverPort} user=${username} password=${decodeURIComponent(password)}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = session',
    'max_client_conn = 500',
    `default_pool_size = ${sessions}`,
    'server_reset_query = discard all',
  ]
  await writeFile(join(folder, 'pgbouncer.ini'), settings.join('\n'))
  const asRoot = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const child = spawn('pgbouncer', [...asRoot, join(folder, 'pgbouncer.ini')], { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.on('data', chunk => (log += chunk))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  })
  await until('PgBouncer', () => {
    if (child.exitCode !== null) throw new Error(log)
    return log.includes('process up') ? true : undefined
  })
  return `postgres://${username}@127.0.0.1:${port}${pathname}`
}

async function startApi(sessions: number) {
  const database = await freshDatabase()
  onTestFinished(() => database.drop())
  const folder = await mkdtemp(join(tmpdir(), 'perennial-narrow-'))
  const env = {
    DATABASE_URL: await pgbouncer(database.url, sessions),
    APP_SECRET: 'a secret for tests only, long enough',
    BOOTSTRAP_SECRET_KEY: KEY,
    DATA_DIR: folder,
    PORT: '0',
    ROLE: 'api',
    LOG_LEVEL: 'warn',
  }
  const running = await run({ env })
  onTestFinished(async () => {
    await running.end()
    await rm(folder, { recursive: true, force: true })
  })
  return { running, url: env.DATABASE_URL }
}

/** As processes that have opened all sessions that are left. */
async function takeAll(url: string): Promise<() => Promise<void>> {
  const pool = connect({ url, max: SESSIONS })
  const taken = await Promise.allSettled(Array.from({ length: SESSIONS }, () => pool.connect()))
  return async () => {
    for (const one of taken) if (one.status === 'fulfilled') one.value.release(true)
    await pool.end()
  }
}

test('too few sessions: one line at the start, and 502 with Retry-After, never 500', { timeout: 180_000 }, async () => {
  const { running, url } = await startApi(SESSIONS)
  expect(
    running.output().match(/this process may open 41 connections to the database; the pooler before it gave 10 at once/g),
  ).toHaveLength(1)
  const answers = new Map<string, number>()
  const ask = async (path: string) => {
    const answer = await fetch(running.url + path, { headers: { Authorization: `Bearer ${KEY}` } })
    const code = answer.ok ? 'ok' : ((await answer.json()) as { error: { code: string } }).error.code
    const seen = `${answer.status} ${code} ${answer.headers.get('retry-after')}`
    answers.set(seen, (answers.get(seen) ?? 0) + 1)
  }
  const paths = [
    '/v4/entitlements',
    '/v4/events?limit=5',
    '/v4/customers?limit=5',
    '/v4/ledger?from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z',
  ]
  const release = await takeAll(url)
  await Promise.all(Array.from({ length: 40 }, (_, n) => ask(paths[n % paths.length]!)))
  await release()
  expect([...answers.keys()].filter(answer => !['200 ok null', '502 storage_error 2'].includes(answer))).toEqual([])
  expect(answers.get('502 storage_error 2')).toBeGreaterThan(0)
  answers.clear()
  await until('requests work again', async () => {
    await ask('/v4/entitlements')
    return answers.has('200 ok null') ? true : undefined
  })
})

test('enough sessions: nothing is said', { timeout: 180_000 }, async () => {
  const { running } = await startApi(50)
  expect(running.output()).not.toContain('this process may open')
})

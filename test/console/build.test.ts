// The pages are built once, in the background, and whole.
import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { readConfig } from '../../app/config.ts'
import { buildOnce, builtStamp } from '../../app/console/build.ts'
import { tryLock } from '../../app/console/lock.ts'
import { consoleSource } from '../../app/console/source.ts'
import { stampOf } from '../../app/console/stamp.ts'
import { greeting } from '../../app/greeting.ts'
import type { Perennial } from '../../app/start.ts'
import { until } from '../harness/until.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const CONFIG = `import { fileURLToPath } from 'node:url'
export default {
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/console/',
  build: { manifest: 'manifest.json' },
}
`

let root: string
const at = (name: string) => join(root, 'web/console', name)
const made = async () => (await readdir(join(root, 'web/console'))).filter(name => name.startsWith('dist')).sort()

/** A tree of sources whose pages are one line. */
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'perennial-sources-'))
  await mkdir(at('pages'), { recursive: true })
  await symlink(join(REPOSITORY, 'node_modules'), join(root, 'node_modules'))
  await writeFile(join(root, 'package-lock.json'), '{}')
  await writeFile(at('vite.config.ts'), CONFIG)
  await writeFile(at('index.html'), '<!doctype html><head></head><script type="module" src="/main.js"></script>')
  await writeFile(at('main.js'), `import('./pages/overview.js')`)
  await writeFile(at('pages/overview.js'), 'document.title = 1')
})
beforeEach(async () => {
  for (const name of await made()) await rm(at(name), { recursive: true })
})
afterAll(() => rm(root, { recursive: true, force: true }))

function source() {
  const lines: string[] = []
  const note = (first: unknown, text?: string) => void lines.push(text ?? String(first))
  return { lines, ...consoleSource({ info: note, warn: note } as never, root) }
}
const built = (of: ReturnType<typeof source>) => until('the pages', () => (of.state() === 'built' ? true : undefined))
/** A bundler that writes a page and needs no time. */
const bundle = (text: string) => async (outDir: string) => {
  await mkdir(outDir)
  await writeFile(join(outDir, 'manifest.json'), text)
}

test('two processes that start on one folder build once, and neither waits', async () => {
  const [one, other] = [source(), source()]
  expect([one.state(), other.state()]).toEqual(['building', 'building'])
  one.begin()
  other.begin()
  await Promise.all([built(one), built(other)])
  await until('both ends', () => (one.lines.length + other.lines.length === 4 ? true : undefined))
  expect(one.lines).toEqual(['the console is being built', 'the console is built'])
  expect(await made()).toEqual(['dist'])
  expect(Object.keys(JSON.parse(await readFile(at('dist/manifest.json'), 'utf8')))).toContain('pages/overview.js')
  expect(await builtStamp(root)).toBe(await stampOf(root))
  const later = source()
  later.begin()
  await later.close()
  expect(later.lines).toEqual([])
})

test('a changed source is built anew, and nothing else is', async () => {
  const builds: boolean[] = []
  const build = async () => void builds.push(await buildOnce(root, bundle(String(builds.length))))
  await build()
  await build()
  const before = await stampOf(root)
  await writeFile(at('pages/overview.js'), 'document.title = 2')
  expect(await stampOf(root)).not.toBe(before)
  await build()
  await cp(join(root, 'package-lock.json'), at('copy.json'))
  await build()
  await rm(at('copy.json'))
  expect(builds).toEqual([true, false, true, true])
  expect(await readFile(at('dist/manifest.json'), 'utf8')).toBe('3')
})

test('a build that is killed, or fails, leaves the pages of before and no half of others', async () => {
  await buildOnce(root, bundle('whole'))
  const failing = buildOnce(root, () => Promise.reject(new Error('no such module')), { isForced: true })
  await expect(failing).rejects.toThrow('no such module')
  expect(await made()).toEqual(['dist'])
  const script = `
    import { mkdirSync, writeFileSync } from 'node:fs'
    import { buildOnce } from ${JSON.stringify(join(REPOSITORY, 'app/console/build.ts'))}
    await buildOnce(${JSON.stringify(root)}, async outDir => {
      mkdirSync(outDir)
      writeFileSync(outDir + '/manifest.json', 'half')
      process.kill(process.pid, 'SIGKILL')
      await new Promise(() => {})
    }, { isForced: true })`
  await writeFile(join(root, 'killed.ts'), script)
  const runtime = 'Deno' in globalThis ? ['run', '-A'] : []
  const child = spawn(process.execPath, [...runtime, join(root, 'killed.ts')], { stdio: 'inherit' })
  await new Promise(resolve => child.once('close', resolve))
  expect(await made()).toEqual(['dist', expect.stringMatching(/^dist\.lock$/), expect.stringMatching(/^dist\.new-/)])
  expect(await readFile(at('dist/manifest.json'), 'utf8')).toBe('whole')
  // The lock of a process that died is nobody's.
  expect(await buildOnce(root, bundle('next'), { isForced: true })).toBe(true)
  expect([await made(), await readFile(at('dist/manifest.json'), 'utf8')]).toEqual([['dist'], 'next'])
})

test('without what builds nobody waits: the log names the command', async () => {
  const lines: string[] = []
  const folder = await mkdtemp(join(tmpdir(), 'perennial-sources-'))
  const bare = consoleSource({ info: () => {}, warn: (line: string) => void lines.push(line) } as never, folder)
  bare.begin()
  await bare.close()
  await rm(folder, { recursive: true })
  expect([bare.state(), lines]).toEqual(['missing', [expect.stringContaining('npm ci && npm run build:console')]])
})

test('the start says where the console is, or how it is built', () => {
  const perennial = { url: 'http://localhost:1', metricsUrl: null, keys: null, keysFile: null, firstOperator: null, stop: async () => {} }
  const line = (console: Perennial['console']) =>
    greeting({ ...perennial, console }, readConfig({})).find(text => text.startsWith('  Console'))
  expect(line('built')).toBe('  Console         http://localhost:1/console')
  expect(line('building')).toBe('  Console         http://localhost:1/console (being built, some seconds)')
  expect(line('missing')).toBe('  Console         not built: npm ci && npm run build:console')
  expect(line(null)).toBeUndefined()
})

test('one process has the lock', async () => {
  const path = at('dist.lock')
  const unlock = await tryLock(path)
  expect(await tryLock(path)).toBeNull()
  await unlock!()
  await writeFile(path, '1 of a process before the system was started')
  const taken = await Promise.all(Array.from({ length: 5 }, () => tryLock(path)))
  expect(taken.filter(one => one !== null)).toHaveLength(1)
})

test('a bundler that fails is told in the log, and the page says that nobody builds', async () => {
  await writeFile(at('main.js'), `import './missing.js'`)
  const failed = source()
  failed.begin()
  await until('the failure', () => (failed.state() === 'missing' ? true : undefined))
  await failed.close()
  expect(failed.lines).toEqual(['the console is being built', 'the console could not be built'])
  expect(await made()).toEqual([])
})

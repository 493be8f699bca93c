import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROOT } from './sources.ts'

type Chunk = { file: string; imports?: string[]; css?: string[]; isEntry?: boolean }

const FRAME = 'index.html'
/** kB of scripts, compressed, that a page and the frame load at once. */
const MOST: Record<string, number> = { overview: 195, chart: 240, ltv: 240, automation: 255 }
const MOST_OF_OTHERS = 205

const run = promisify(execFile)

let folder: string
let manifest: Record<string, Chunk>
let pages: Record<string, string>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'console-sizes-'))
  const vite = [
    'node_modules/vite/bin/vite.js',
    'build',
    '--config',
    'web/console/vite.config.ts',
    '--outDir',
    folder,
    '--logLevel',
    'error',
  ]
  // With the environment of the tests, React would be built for developers.
  await run(process.execPath, vite, { cwd: ROOT, env: { ...process.env, NODE_ENV: 'production' } })
  manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'))
  pages = JSON.parse(await readFile(join(ROOT, 'web/console/pages.json'), 'utf8'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** What a browser loads at once for modules: their files and those that they import, and theirs. */
function loadedWith(...modules: string[]): { scripts: Set<string>; styles: Set<string> } {
  const scripts = new Set<string>()
  const styles = new Set<string>()
  const visit = (module: string) => {
    const chunk = manifest[module]!
    if (scripts.has(chunk.file)) return
    scripts.add(chunk.file)
    for (const file of chunk.css ?? []) styles.add(file)
    for (const imported of chunk.imports ?? []) visit(imported)
  }
  for (const module of modules) visit(module)
  return { scripts, styles }
}

async function compressed(files: Iterable<string>): Promise<number> {
  let bytes = 0
  for (const file of files) bytes += gzipSync(await readFile(join(folder, file)), { level: 9 }).length
  return bytes / 1000
}

describe('what the console weighs', () => {
  test('the frame', async () => {
    const { scripts, styles } = loadedWith(FRAME)
    expect(await compressed(scripts)).toBeLessThanOrEqual(190)
    expect(await compressed(styles)).toBeLessThanOrEqual(24)
    expect((await readFile(join(folder, FRAME))).length).toBeLessThan(4_000)
  })

  test('each page with the frame', async () => {
    const heavy: string[] = []
    for (const page of new Set(Object.values(pages))) {
      const weight = await compressed(loadedWith(FRAME, `pages/${page}/index.tsx`).scripts)
      if (weight > (MOST[page] ?? MOST_OF_OTHERS)) heavy.push(`${page} ${Math.round(weight)} kB`)
    }
    expect(heavy).toEqual([])
  })

  test('the font, of which one file is loaded', async () => {
    const fonts = Object.values(manifest).filter(({ file }) => file.endsWith('.woff2'))
    expect(fonts.length).toBe(1)
    expect((await readFile(join(folder, fonts[0]!.file))).length).toBeLessThan(49_000)
  })

  test('no page is part of the frame', () => {
    const { scripts } = loadedWith(FRAME)
    expect(Object.values(pages).filter(page => scripts.has(manifest[`pages/${page}/index.tsx`]!.file))).toEqual([])
  })
})

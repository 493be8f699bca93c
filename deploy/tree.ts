// `node deploy/tree.ts FOLDER [--postgres with|without|only]` lays out what runs: sources, packages, the built console and Node. The image and the
// archive are made of it. It needs the packages of `npm ci` and the console of `npm run build:console`.
import { existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { execPath, umask } from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { copyFile, copyPackage, linkLibraries } from './tree/copy.ts'
import { NODE_PACKAGE, runningPackages } from './tree/packages.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Folders of the repository that a running service reads, with what it reads in them. */
const READ: Record<string, RegExp> = {
  ...Object.fromEntries(
    ['api', 'app', 'cli', 'domain', 'schemas', 'store', 'workers', 'workflows'].map(room => [room, /\.(ts|js|json|sql|cer|html|css)$/]),
  ),
  'web/assets': /./,
  'web/console/dist': /./,
  'web/generated': /./,
  'web/sign-in': /./,
  'web/vendor': /./,
  'docs/screens': /\.png$/,
  'deploy/systemd': /./,
  'deploy/prometheus': /\.yaml$/,
  'deploy/grafana': /\.json$/,
}
/** What makes generated files, with packages that are not among those that run. */
const GENERATORS = /(^|\/)generate(\/|\.ts$)/
const FILES = ['LICENSE', 'package.json', 'start.mjs', 'deploy/healthcheck.mjs']
const PROGRAMS = ['bin/perennial']

export type Postgres = 'with' | 'without' | 'only'

/** Lays out what runs in an empty folder. `only`: nothing but the packages of the embedded Postgres, to be laid over the rest. */
export function layOut(folder: string, postgres: Postgres): void {
  if (existsSync(folder) && readdirSync(folder).length > 0) throw new Error(`${folder} is not empty`)
  // Whoever makes it may be stricter than those who run it.
  umask(0o022)
  const packages = runningPackages(ROOT)
  if (postgres !== 'without') {
    for (const path of packages.postgres) copyPackage(join(ROOT, path), join(folder, path))
    for (const path of packages.postgres) if (existsSync(join(folder, path, 'native/pg-symlinks.json'))) linkLibraries(join(folder, path))
  }
  if (postgres === 'only') return
  if (!existsSync(join(ROOT, 'web/console/dist/manifest.json'))) throw new Error('the console is not built: npm run build:console')
  for (const path of packages.others) copyPackage(join(ROOT, path), join(folder, path))
  for (const [path, isRead] of Object.entries(READ))
    if (existsSync(join(ROOT, path)))
      for (const entry of readdirSync(join(ROOT, path), { recursive: true, withFileTypes: true })) {
        const file = relative(ROOT, join(entry.parentPath, entry.name))
        if (entry.isFile() && isRead.test(file) && !GENERATORS.test(file)) copyFile(join(ROOT, file), join(folder, file))
      }
  for (const file of FILES) copyFile(join(ROOT, file), join(folder, file))
  for (const file of PROGRAMS) copyFile(join(ROOT, 'deploy', file), join(folder, file), true)
  const node = join(ROOT, NODE_PACKAGE, 'bin/node')
  copyFile(existsSync(node) ? node : execPath, join(folder, 'bin/node'), true)
}

if (import.meta.main) {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { postgres: { type: 'string', default: 'with' } } })
  const [folder] = positionals
  if (folder === undefined || !['with', 'without', 'only'].includes(values.postgres)) {
    console.error('node deploy/tree.ts FOLDER [--postgres with|without|only]')
    process.exit(1)
  }
  layOut(folder, values.postgres as Postgres)
}

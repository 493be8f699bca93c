// `npm run release [FOLDER]` makes what somebody installs who has no clone: an archive with Node and all that runs, the list of its packages, and
// the checksums of both. By default in release/.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { pack, sha256Of } from './archive/pack.ts'
import { layOut } from './tree.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Of an archive that is made outside of a clone: 1980, the earliest time that every archiver knows. */
const NO_COMMIT = 315_532_800

/** `production`: React is built for users. For npm it would leave out packages that a tool of development needs as well. */
const run = (command: string, args: string[], NODE_ENV = ''): string =>
  execFileSync(command, args, {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_ENV },
  })

/** The time that all files have: of the last commit, or as the variable says that builds of many projects know. */
function timeOfSources(): number {
  const given = process.env.SOURCE_DATE_EPOCH
  if (given !== undefined && /^\d{1,12}$/.test(given)) return Number(given)
  if (given !== undefined) throw new Error(`SOURCE_DATE_EPOCH=${given}: must be seconds since 1970`)
  try {
    return Number(run('git', ['log', '-1', '--format=%ct']))
  } catch {
    return NO_COMMIT
  }
}

/** Without the number and the time that npm draws anew for each list. */
function packagesOf(seconds: number): string {
  const list = JSON.parse(run(execPath, ['.ci/sbom.mjs']))
  delete list.serialNumber
  list.metadata.timestamp = new Date(seconds * 1000).toISOString()
  return `${JSON.stringify(list, null, 2)}\n`
}

async function release(folder: string): Promise<string[]> {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  const name = `perennial-${version}-${process.platform}-${process.arch}`
  const seconds = timeOfSources()
  const files = [`${name}.tar.gz`, `perennial-${version}.cdx.json`].map(file => join(folder, file))
  const [archive, list] = files as [string, string]
  run(execPath, ['web/build-console.ts', '--needed'], 'production')
  mkdirSync(folder, { recursive: true })
  const parent = mkdtempSync(join(tmpdir(), 'perennial-release-'))
  try {
    layOut(join(parent, name), 'with')
    await pack(parent, name, seconds, archive)
  } finally {
    rmSync(parent, { recursive: true, force: true })
  }
  writeFileSync(list, packagesOf(seconds))
  const sums = await Promise.all(files.map(async file => `${await sha256Of(file)}  ${basename(file)}\n`))
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
  return files
}

for (const file of await release(resolve(process.argv[2] ?? join(ROOT, 'release')))) console.log(file)

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const git = async (...args: string[]) => (await run('git', ['-C', ROOT, ...args], { maxBuffer: 2 ** 26 })).stdout.trim()

export type Release = { version: string; commit: string }
/** A release as files that can be started. */
export type CheckedOut = Release & { folder: string; remove(): Promise<void> }

/** The release before this commit: the newest tag, or in a clone without tags the last one that `npm run release:tag` has noted. */
async function formerRelease(): Promise<Release> {
  const head = await git('rev-parse', 'HEAD')
  for (const tag of (await git('tag', '--list', 'v*', '--merged', 'HEAD', '--sort=-version:refname')).split('\n').filter(Boolean)) {
    const commit = await git('rev-parse', `${tag}^{commit}`)
    if (commit !== head) return { version: tag.slice(1), commit }
  }
  const noted: Release[] = JSON.parse(await readFile(join(ROOT, 'releases.json'), 'utf8'))
  const last = noted.findLast(({ commit }) => commit !== head)!
  await git('cat-file', '-e', `${last.commit}^{commit}`).catch(() => {
    throw new Error(`this clone has no history: the commit of ${last.version} (${last.commit}) is not in it. Clone it whole.`)
  })
  return last
}

type Packages = Record<string, { version?: string; dev?: boolean; optional?: boolean; devOptional?: boolean; peer?: boolean }>

/** Whether this installation has what the release was locked to. */
async function isInstalled(folder: string): Promise<boolean> {
  const packagesOf = async (file: string): Promise<Packages> => JSON.parse(await readFile(file, 'utf8')).packages
  const locked = await packagesOf(join(folder, 'package-lock.json'))
  const here = await packagesOf(join(ROOT, 'node_modules/.package-lock.json'))
  return Object.entries(locked)
    .filter(
      ([path, { dev, optional, devOptional, peer }]) => path.startsWith('node_modules/') && !dev && !optional && !devOptional && !peer,
    )
    .every(([path, { version }]) => here[path]?.version === version)
}

/** Writes the files of the former release into a folder of their own, with its packages. */
export async function checkOutFormer(): Promise<CheckedOut> {
  const release = await formerRelease()
  const folder = await mkdtemp(join(tmpdir(), `perennial-${release.version}-`))
  const archive = join(folder, '.archive.tar')
  await git('archive', '--output', archive, release.commit)
  await run('tar', ['-x', '-f', archive, '-C', folder])
  await rm(archive)
  if (await isInstalled(folder)) await symlink(await realpath(join(ROOT, 'node_modules')), join(folder, 'node_modules'))
  else await run('npm', ['ci'], { cwd: folder, maxBuffer: 2 ** 26 })
  return { ...release, folder, remove: () => rm(folder, { recursive: true, force: true }) }
}

/** The command line of the release. */
export const commandsOf =
  ({ folder }: CheckedOut, env: Record<string, string>) =>
  async (...args: string[]): Promise<string> =>
    (await run(process.execPath, [join(folder, 'start.mjs'), 'cli', ...args], { env: { ...process.env, ...env } })).stdout

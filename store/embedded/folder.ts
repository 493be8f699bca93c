import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { getuid } from 'node:process'
import { DataDirRefused, errno, refused } from './refusal.ts'
import { removeAbandoned, temporaryName } from './temporary.ts'

const MARKER = 'perennial.json'
const FORMAT = 1
/** Prefix of the folders in which clusters are created. */
export const DRAFT_PREFIX = 'postgres.tmp-'
const KNOWN = new Set([MARKER, 'postgres', 'exports', 'imports', 'app_secret', 'first-keys'])

/**
 * Reads the data folder and changes nothing. Accepts a missing folder, an empty one (dot files and lost+found do not count) and a marked one.
 * @throws DataDirRefused for a file, for a folder that cannot be read, and for a folder with other content.
 */
export async function inspectFolder(dataDir: string): Promise<void> {
  let names: string[]
  try {
    if (!(await stat(dataDir)).isDirectory()) throw new DataDirRefused(`The data folder ${dataDir} is a file: set DATA_DIR to a folder.`)
    names = await readdir(dataDir)
  } catch (error) {
    if (!(error instanceof DataDirRefused) && errno(error) === 'ENOENT') return
    throw refused(dataDir, error)
  }
  const foreign = names.find(name => !name.startsWith('.') && name !== 'lost+found' && !KNOWN.has(name) && !name.startsWith(DRAFT_PREFIX))
  if (foreign !== undefined && !names.includes(MARKER))
    throw new DataDirRefused(
      `The data folder ${dataDir} holds something else (${foreign}) and no ${MARKER} of Perennial: set DATA_DIR to an empty or new folder.`,
    )
}

/**
 * Creates the folder if it is missing, proves that it can be written to, and marks it as a data folder of Perennial.
 * @throws DataDirRefused when it cannot be written to, or when a version (of Perennial or of Postgres) created it that this one cannot read.
 */
export async function markFolder(dataDir: string, major: number): Promise<void> {
  try {
    // 0711 for root: the user that Postgres runs as may pass, and no user may list the folder.
    await mkdir(dataDir, { recursive: true, mode: getuid?.() === 0 ? 0o711 : 0o700 })
    const text = await readFile(join(dataDir, MARKER), 'utf8').catch(error => {
      if (errno(error) === 'ENOENT') return undefined
      throw error
    })
    if (text !== undefined) requireReadable(dataDir, text, major)
    await removeAbandoned(dataDir, `.${MARKER}-`)
    // Also when the marker exists: only a real write proves that the folder can be written to.
    const draft = join(dataDir, temporaryName(`.${MARKER}-`))
    try {
      await writeSynced(draft, text ?? `${JSON.stringify({ format: FORMAT, postgres: major })}\n`)
      if (text === undefined) await rename(draft, join(dataDir, MARKER))
    } finally {
      await rm(draft, { force: true }).catch(() => undefined)
    }
    if (text === undefined) await syncFolder(dataDir)
  } catch (error) {
    throw refused(dataDir, error)
  }
}

function requireReadable(dataDir: string, text: string, major: number) {
  let mark: { format?: unknown; postgres?: unknown } | null = null
  try {
    mark = JSON.parse(text)
  } catch {}
  if (typeof mark?.format !== 'number' || typeof mark.postgres !== 'number')
    throw new DataDirRefused(
      `The data folder ${dataDir} has a damaged ${MARKER}: restore it from a backup, or write ${sample(major)} into it.`,
    )
  if (mark.format > FORMAT)
    throw new DataDirRefused(
      `The data folder ${dataDir} was made by a newer version of Perennial (format ${mark.format}, this one knows ${FORMAT}): start that version, or set DATA_DIR to another folder.`,
    )
  requireMajor(join(dataDir, 'postgres'), mark.postgres, major)
}

const sample = (major: number) => JSON.stringify({ format: FORMAT, postgres: major })

/** @throws DataDirRefused unless the cluster at `path` has the major version of the binaries. */
export function requireMajor(path: string, made: number, major: number): void {
  if (made > major)
    throw new DataDirRefused(
      `The database in ${path} was made by a newer Postgres (${made}, this version brings ${major}): start the newer version of Perennial, or set DATA_DIR to another folder.`,
    )
  if (made < major)
    throw new DataDirRefused(
      `The database in ${path} was made by an older Postgres (${made}, this version brings ${major}): start the older version of Perennial, dump with pg_dump, and load the dump into a new DATA_DIR.`,
    )
}

/** Writes a new file with mode 0600. The file is synced to the disk when the promise resolves. */
export async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Syncs the folder to the disk: only then a rename in it is durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}

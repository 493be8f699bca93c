import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { getuid } from 'node:process'
import { DataDirRefused, errno, refused } from './refuse.ts'
import { sweep, temporaryName } from './temporary.ts'

const marker = 'perennial.json'
const format = 1
const known = new Set([marker, 'postgres', 'exports', 'imports', 'app_secret'])

/**
 * Looks at the data folder and changes nothing. Accepts a missing folder, an empty one (dot files and lost+found do not count) and ours.
 * @throws DataDirRefused for a file, a foreign folder, one that cannot be read and one of a newer version.
 */
export async function inspect(dataDir: string): Promise<void> {
  let names: string[]
  try {
    if (!(await stat(dataDir)).isDirectory()) throw new DataDirRefused(`The data folder ${dataDir} is a file: set DATA_DIR to a folder.`)
    names = await readdir(dataDir)
  } catch (error) {
    if (!(error instanceof DataDirRefused) && errno(error) === 'ENOENT') return
    throw refused(dataDir, error)
  }
  const foreign = names.find(
    name => !name.startsWith('.') && name !== 'lost+found' && !known.has(name) && !name.startsWith('postgres.tmp-'),
  )
  if (foreign !== undefined && !names.includes(marker))
    throw new DataDirRefused(
      `The data folder ${dataDir} holds something else (${foreign}) and no ${marker} of ours: set DATA_DIR to an empty or new folder.`,
    )
}

/**
 * Makes the folder if need be, proves that it can be written to, and marks it as ours.
 * @throws DataDirRefused when it cannot be written to, or was made by a version (ours or of Postgres) that this one does not read.
 */
export async function claim(dataDir: string, major: number): Promise<void> {
  try {
    // 0711 for root: the user that Postgres runs as may pass, nobody may look.
    await mkdir(dataDir, { recursive: true, mode: getuid?.() === 0 ? 0o711 : 0o700 })
    const text = await readFile(join(dataDir, marker), 'utf8').catch(error => {
      if (errno(error) === 'ENOENT') return undefined
      throw error
    })
    if (text !== undefined) readable(dataDir, text, major)
    await sweep(dataDir, `.${marker}-`)
    // Also when it is there already: only a real write tells a folder that can be written to from one that cannot.
    const draft = join(dataDir, temporaryName(`.${marker}-`))
    try {
      await write(draft, text ?? `${JSON.stringify({ format, postgres: major })}\n`)
      if (text === undefined) await rename(draft, join(dataDir, marker))
    } finally {
      await rm(draft, { force: true }).catch(() => undefined)
    }
    if (text === undefined) await sync(dataDir)
  } catch (error) {
    throw refused(dataDir, error)
  }
}

function readable(dataDir: string, text: string, major: number) {
  let mark: { format?: unknown; postgres?: unknown } | null = null
  try {
    mark = JSON.parse(text)
  } catch {}
  if (typeof mark?.format !== 'number' || typeof mark.postgres !== 'number')
    throw new DataDirRefused(
      `The data folder ${dataDir} has a damaged ${marker}: restore it from a backup, or write ${sample(major)} into it.`,
    )
  if (mark.format > format)
    throw new DataDirRefused(
      `The data folder ${dataDir} was made by a newer version of Perennial (format ${mark.format}, this one knows ${format}): start that version, or set DATA_DIR to another folder.`,
    )
  sameMajor(join(dataDir, 'postgres'), mark.postgres, major)
}

const sample = (major: number) => JSON.stringify({ format, postgres: major })

/** @throws DataDirRefused unless the cluster at `path` is of the major version that the binaries are of. */
export function sameMajor(path: string, made: number, major: number): void {
  if (made > major)
    throw new DataDirRefused(
      `The database in ${path} was made by a newer Postgres (${made}, this version brings ${major}): start the newer version of Perennial, or set DATA_DIR to another folder.`,
    )
  if (made < major)
    throw new DataDirRefused(
      `The database in ${path} was made by an older Postgres (${made}, this version brings ${major}): start the older version of Perennial, dump with pg_dump, and load the dump into a new DATA_DIR.`,
    )
}

/** A new file of 0600, on the disk before the promise resolves. */
export async function write(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** A rename is on the disk only once the folder is. */
export async function sync(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}

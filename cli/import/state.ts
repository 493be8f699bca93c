import { createHash } from 'node:crypto'
import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { codeOf } from '../failure.ts'
import type { FileIdentity } from './rows.ts'

/** The progress of an import: the first `rows` rows, which end at byte `end`, are stored or rejected. */
export type ImportState = {
  file: string
  url: string
  rows: number
  end: number
  created: number
  duplicates: number
  rejected: number
  /** The file of the rejected rows, and how many of its bytes belong to `rows`. */
  rejects: string
  rejectsBytes: number
  isFinished: boolean
}

/** What identifies an import. */
export type ImportSubject = { file: FileIdentity; map: string; delimiter: string; url: string; key: string }

/**
 * The name of an import: this version of the file, into this environment, by this map. The key distinguishes projects at one address. It is
 * hashed twice, so the name does not reveal it. (After a rotation of the key the import begins again, and the service finds the events there.)
 */
export function importName({ file, map, delimiter, url, key }: ImportSubject): string {
  const environment = createHash('sha256').update(key).digest('hex')
  return createHash('sha256')
    .update(JSON.stringify([file, map, delimiter, url, environment]))
    .digest('hex')
    .slice(0, 32)
}

/** The folder for the state of imports; created when it is missing. */
export async function importsFolder(dataDir: string): Promise<string> {
  // The mode that the embedded Postgres needs: as root it runs under another user, which must be able to pass this folder.
  await mkdir(dataDir, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
  const folder = join(dataDir, 'imports')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return folder
}

/** Undefined without a readable state: the import begins again, which is harmless because of the event ids. */
export async function readState(path: string): Promise<ImportState | undefined> {
  const text = await readFile(path, 'utf8').catch(error => {
    if (codeOf(error) !== 'ENOENT') throw error
    return ''
  })
  try {
    const state = JSON.parse(text) as ImportState
    return Number.isSafeInteger(state.rows) && Number.isSafeInteger(state.end) ? state : undefined
  } catch {
    return undefined
  }
}

/** Replaces the file as a whole, so a kill leaves the old or the new state. Not synced: to lose the last seconds costs a few repeats. */
export async function writeState(path: string, state: ImportState): Promise<void> {
  const draft = `${path}.${process.pid}`
  const handle = await open(draft, 'w', 0o600)
  try {
    await handle.writeFile(`${JSON.stringify(state, null, 2)}\n`)
  } finally {
    await handle.close()
  }
  await rename(draft, path)
}

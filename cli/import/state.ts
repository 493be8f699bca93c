import { createHash } from 'node:crypto'
import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { codeOf } from '../failure.ts'
import type { FileIdentity } from './rows.ts'

/** How far an import has come: everything before byte `end`, which are `rows` rows, is answered for. */
export type State = {
  file: string
  url: string
  rows: number
  end: number
  created: number
  duplicates: number
  rejected: number
  /** File of the rejected rows and how much of it belongs to `rows`. */
  rejects: string
  rejectsBytes: number
  isFinished: boolean
}

export type Subject = { file: FileIdentity; map: string; delimiter: string; url: string; key: string }

/**
 * One import: this file as it is now, into that environment, by this map. The key goes in as a hash within a hash: it tells
 * projects on one address apart, and a name tells nothing of it. (A rotated key begins anew; the service finds the events there.)
 */
export function importName({ file, map, delimiter, url, key }: Subject): string {
  const environment = createHash('sha256').update(key).digest('hex')
  return createHash('sha256')
    .update(JSON.stringify([file, map, delimiter, url, environment]))
    .digest('hex')
    .slice(0, 32)
}

/** Where imports keep their state; made when it is not there. */
export async function importsFolder(dataDir: string): Promise<string> {
  // As the embedded Postgres wants its folder: root's may be passed by the user that Postgres runs as.
  await mkdir(dataDir, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
  const folder = join(dataDir, 'imports')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return folder
}

/** Undefined when there is none, or none that can be read: the import begins anew, which the event ids make harmless. */
export async function readState(path: string): Promise<State | undefined> {
  const text = await readFile(path, 'utf8').catch(error => {
    if (codeOf(error) !== 'ENOENT') throw error
    return ''
  })
  try {
    const state = JSON.parse(text) as State
    return Number.isSafeInteger(state.rows) && Number.isSafeInteger(state.end) ? state : undefined
  } catch {
    return undefined
  }
}

/** Replaced as a whole, so that a kill leaves the old or the new one. Not synced: losing the last seconds costs a few repeats. */
export async function writeState(path: string, state: State): Promise<void> {
  const draft = `${path}.${process.pid}`
  const handle = await open(draft, 'w', 0o600)
  try {
    await handle.writeFile(`${JSON.stringify(state, null, 2)}\n`)
  } finally {
    await handle.close()
  }
  await rename(draft, path)
}

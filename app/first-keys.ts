import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder, writeSynced } from '../store/embedded/folder.ts'
import { removeAbandoned, temporaryName } from '../store/embedded/temporary.ts'

/** The keys that a first start has made. A key that the operator has given is undefined: it is not shown again. */
export type MadeKeys = { secretKey: string | undefined; projectKey: string | undefined }

const PREFIX = '.first-keys-'
const pathIn = (dataDir: string) => join(dataDir, 'first-keys')

/** Stores the keys where only this user can read them, as a file that a shell can read. Returns its path. */
export async function writeFirstKeys(dataDir: string, { secretKey, projectKey }: MadeKeys): Promise<string> {
  const path = pathIn(dataDir)
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await removeAbandoned(dataDir, PREFIX)
  const draft = join(dataDir, temporaryName(PREFIX))
  const lines = [
    ...(secretKey === undefined ? [] : [`SECRET_KEY=${secretKey}`, `SANDBOX_KEY=test_${secretKey}`]),
    ...(projectKey === undefined ? [] : [`PROJECT_KEY=${projectKey}`]),
  ]
  await writeSynced(draft, `${lines.join('\n')}\n`)
  await rename(draft, path)
  await syncFolder(dataDir)
  return path
}

/** The file with the first keys, while it is there. */
export async function firstKeysFile(dataDir: string): Promise<string | null> {
  const path = pathIn(dataDir)
  return (await stat(path).catch(() => null))?.isFile() ? path : null
}

/** The keys are on a terminal: they belong in no file. A file that stays is named at the next start. */
export const removeFirstKeys = (dataDir: string): Promise<void> => rm(pathIn(dataDir), { force: true }).catch(() => {})

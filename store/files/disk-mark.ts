import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder, writeSynced } from '../embedded/folder.ts'
import { errno } from '../embedded/refusal.ts'
import { removeAbandoned, temporaryName } from '../embedded/temporary.ts'

/** The file that tells the folder of export files from an empty mount point. The database has its content, too. */
export const DISK_MARK = '.perennial-files'

const draftPrefix = `${DISK_MARK}-`

/** The folder's mark; null: the folder has none, or there is no folder. */
export const readDiskMark = (folder: string): Promise<string | null> =>
  readFile(join(folder, DISK_MARK), 'utf8').then(
    text => text.trim(),
    error => {
      if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR') return null
      throw error
    },
  )

/** Writes a draft of the mark and lets `publish` give it its name, so that the mark is never read half written. */
export async function writeDiskMark(folder: string, mark: string, publish: (draft: string, path: string) => Promise<void>): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await removeAbandoned(folder, draftPrefix)
  const draft = join(folder, temporaryName(draftPrefix))
  try {
    await writeSynced(draft, `${mark}\n`)
    await publish(draft, join(folder, DISK_MARK))
    await syncFolder(folder)
  } finally {
    await rm(draft, { force: true })
  }
}

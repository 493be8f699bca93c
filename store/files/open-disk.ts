import { link, rename } from 'node:fs/promises'
import type { Db } from '../connect.ts'
import { errno } from '../embedded/refusal.ts'
import { opaqueId } from '../ids.ts'
import { diskStorage } from './disk.ts'
import { DISK_MARK, readDiskMark, writeDiskMark } from './disk-mark.ts'
import type { FileStorage } from './storage.ts'

const storedMark = async (db: Db): Promise<string | null> =>
  (await db.query<{ mark: string }>('select mark from file_folder')).rows[0]?.mark ?? null

/**
 * The storage in a folder of the local disk. Creates and marks the folder once in the life of the database. Later a folder without this
 * mark is an unmounted folder: it is not created again, and the storage fails until the folder is back. `onMissing` is then called with a
 * sentence for the operator.
 */
export async function openDiskStorage(db: Db, folder: string, onMissing: (sentence: string) => void): Promise<FileStorage> {
  let mark = await storedMark(db)
  if (mark === null) {
    // Another process may create the mark at the same time: the first link wins. After a crash between the mark and the row, or with a new
    // database, the mark of the folder is adopted.
    await writeDiskMark(folder, opaqueId(), (draft, path) =>
      link(draft, path).catch(error => {
        if (errno(error) !== 'EEXIST') throw error
      }),
    )
    await db.query('insert into file_folder (mark) values ($1) on conflict do nothing', [await readDiskMark(folder)])
    mark = (await storedMark(db))!
  }
  if ((await readDiskMark(folder).catch(() => null)) !== mark)
    onMissing(
      `the export files are not in ${folder}: mount the folder that has the file ${DISK_MARK} with ${mark}. If the files are lost for good, create the folder and that file`,
    )
  return diskStorage(folder, mark)
}

/** Gives the folder the mark that the database has; nothing if it has none. For a restored database. */
export async function restoreDiskMark(db: Db, folder: string): Promise<void> {
  const mark = await storedMark(db)
  if (mark !== null) await writeDiskMark(folder, mark, rename)
}

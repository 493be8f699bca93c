import { lstat, stat } from 'node:fs/promises'
import process from 'node:process'
import { DataDirRefused } from './embedded/refusal.ts'

/**
 * Refuses a data folder that another user can write: a user who can replace the secret or the files of the database controls the service. A
 * folder that is missing or cannot be read is not refused here; its later use fails.
 */
export async function requirePrivateFolder(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  const us = process.getuid?.()
  if (found?.isDirectory() !== true || us === undefined) return
  const refuse = (why: string) => {
    throw new DataDirRefused(`The data folder ${path} ${why}, or set DATA_DIR to a folder of its own.`)
  }
  if ((found.mode & 0o002) !== 0) refuse(`can be written by every user: chmod o-w ${path}`)
  // Containers give a volume to a group of the process. Deno does not list the groups.
  const groups = process.getgroups?.()
  if ((found.mode & 0o020) !== 0 && us !== 0 && groups && ![process.getegid?.(), ...groups].includes(found.gid))
    refuse(`can be written by another group (gid ${found.gid}): chmod g-w ${path}`)
  if (us !== 0 && found.uid !== us && found.uid !== 0) refuse(`belongs to another user (uid ${found.uid}): start as that user`)
}

/** Refuses a secret file in a data folder that others can read or write, or that another user has put there. A missing file is accepted. */
export async function requirePrivateFile(path: string, folder: string): Promise<void> {
  const us = process.getuid?.()
  if (us === undefined) return
  const [file, owner] = await Promise.all([lstat(path), stat(folder)].map(found => found.catch(() => undefined)))
  if (file === undefined || owner === undefined) return
  const refuse = (why: string) => {
    throw new DataDirRefused(`The secret file ${path} ${why}.`)
  }
  if (!file.isFile()) refuse('is not a plain file: put the file itself there, or set APP_SECRET_FILE')
  // Root may start a service whose folder belongs to the user of an earlier service.
  if (![us, us === 0 ? owner.uid : us].includes(file.uid))
    refuse(`belongs to another user (uid ${file.uid}): restore your own, or set APP_SECRET`)
  if ((file.mode & 0o077) !== 0) refuse(`can be read or written by other users: chmod 600 ${path}`)
}

/** The embedded Postgres cannot run in the folder (or on the machine). The message is the one line to print before exit 1. */
export class DataDirRefused extends Error {
  override name = 'DataDirRefused'
}

/** The errno of a failed file operation. Throws any other error again. */
export function errno(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  if (typeof code !== 'string') throw error
  return code
}

const REASONS: Record<string, string> = {
  EACCES: 'is not accessible to this user: give the user access to it, or set DATA_DIR to a folder of its own',
  EPERM: 'may not be changed by this user: give the user access to it, or set DATA_DIR to a folder of its own',
  EROFS: 'is on a read-only file system: make it writable, or set DATA_DIR to a folder that is',
  ENOSPC: 'is on a full disk: free some space, or set DATA_DIR to a folder on another disk',
  EDQUOT: 'is over the disk quota: free some space, or set DATA_DIR to a folder on another disk',
  ENOTDIR: 'cannot be a folder, as a part of its path is a file: set DATA_DIR to a folder',
  EEXIST: 'is not a folder: set DATA_DIR to a folder',
  ENOENT: 'cannot be created (a read-only file system, or a broken symbolic link): set DATA_DIR to a folder that can be written to',
  ELOOP: 'is a loop of symbolic links: set DATA_DIR to a folder',
}

/** Turns a failed file operation below `path` into the line about the folder. Throws an unknown error again. */
export function refused(path: string, error: unknown): DataDirRefused {
  if (error instanceof DataDirRefused) return error
  const reason = REASONS[errno(error)]
  if (reason === undefined) throw error
  return new DataDirRefused(`The data folder ${path} ${reason}.`, { cause: error })
}

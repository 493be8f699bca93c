import { platform } from 'node:process'
import { DataDirRefused } from './refuse.ts'
import { type Account, commandAs, run, setpriv } from './run.ts'

/** A name of the process's own working directory that needs no right to pass the folders above it. */
export const here = '/proc/self/cwd'

/**
 * How the account is to name a folder that it owns and is started in: by its path, or, where it may not pass the folders above (DATA_DIR
 * below a home of 0700), as its working directory. Plain `.` will not do: Postgres makes an absolute path of it and goes there.
 * @throws DataDirRefused where neither works (macOS as root).
 */
export async function pathFor(account: Account | undefined, folder: string): Promise<string> {
  if (account === undefined) return folder
  if ((await run(commandAs(account, '/', '/bin/sh', ['-c', 'cd "$1"', 'sh', folder]))).code === 0) return folder
  if (platform === 'linux' && setpriv !== undefined) return here
  throw new DataDirRefused(
    `Postgres does not run as root, and the user it runs as (uid ${account.uid}) may not pass the folders above ${folder}: start as another user than root, or set DATA_DIR to a folder that all users may pass.`,
  )
}

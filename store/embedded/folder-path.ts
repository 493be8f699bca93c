import { platform } from 'node:process'
import { type Account, commandAs, runCommand, setpriv } from './command.ts'
import { DataDirRefused } from './refusal.ts'

/** A path of the process's own working directory. It needs no permission for the folders above. */
export const WORKING_DIRECTORY = '/proc/self/cwd'

/**
 * The path by which a process of the account names the folder that it owns and starts in: the folder's own path, or its working directory
 * where the account may not pass the folders above (DATA_DIR below a home of 0700). Plain `.` does not work: Postgres turns it into an
 * absolute path and opens that.
 * @throws DataDirRefused where neither works (macOS as root).
 */
export async function pathFor(account: Account | undefined, folder: string): Promise<string> {
  if (account === undefined) return folder
  if ((await runCommand(commandAs(account, '/', '/bin/sh', ['-c', 'cd "$1"', 'sh', folder]))).code === 0) return folder
  if (platform === 'linux' && setpriv !== undefined) return WORKING_DIRECTORY
  throw new DataDirRefused(
    `Postgres does not run as root, and the user it runs as (uid ${account.uid}) may not pass the folders above ${folder}: start as another user than root, or set DATA_DIR to a folder that all users may pass.`,
  )
}

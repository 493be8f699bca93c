import { type SpawnOptions, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { env } from 'node:process'

/** The unprivileged user that Postgres runs as when the service is root. */
export type Account = { uid: number; gid: number }

export type Command = { file: string; args: string[]; options: SpawnOptions }

/**
 * setpriv keeps the working directory of root and then becomes the user: so a process can start in a folder whose parents the user may not
 * pass. The spawn options uid and gid do the same on Node. Deno changes the folder after it changed the user, and fails.
 */
export const setpriv = ['/usr/bin/setpriv', '/bin/setpriv'].find(path => existsSync(path))

// Postgres reads PG* and LC_* from its environment. Those of the caller must not change how a cluster is created or served.
const environment = () => ({
  PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
  LC_ALL: 'C',
  ...(env.LD_LIBRARY_PATH === undefined ? {} : { LD_LIBRARY_PATH: env.LD_LIBRARY_PATH }),
})

/** A command as the account (undefined: as the user of this process), started in `cwd`. */
export function commandAs(account: Account | undefined, cwd: string, file: string, args: string[]): Command {
  const options = { cwd, env: environment() }
  if (account === undefined) return { file, args, options }
  if (setpriv === undefined) return { file, args, options: { ...options, ...account } }
  return { file: setpriv, args: [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups', '--', file, ...args], options }
}

/** Runs a command to its end. `code` is null when the command could not start or a signal ended it; `output` is stdout and stderr together. */
export function runCommand({ file, args, options }: Command, input = ''): Promise<{ code: number | null; output: string }> {
  return new Promise(resolve => {
    let output = ''
    const child = spawn(file, args, { ...options, stdio: 'pipe' })
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        output += chunk.toString()
      })
    child.on('error', error => resolve({ code: null, output: error.message }))
    child.on('close', code => resolve({ code, output }))
    child.stdin?.on('error', () => undefined) // the command ended without reading its input
    child.stdin?.end(input)
  })
}

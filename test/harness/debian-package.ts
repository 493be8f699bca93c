import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const LOCK = join(tmpdir(), 'perennial-apt.lock')

const answers = (command: string, ...args: string[]) =>
  run(command, args).then(
    () => true,
    () => false,
  )

async function install(name: string): Promise<void> {
  // A file of settings that the tests have written before stays as it is.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', UCF_FORCE_CONFFOLD: '1' }
  // Two files may need the same package at once, and a second `apt-get` does not wait for the first.
  const one = (...args: string[]) => run('flock', [LOCK, 'apt-get', '-qq', ...args], { env })
  await one('update')
  await one('install', '-y', '--no-install-recommends', name)
}

export type Requirement = {
  /** As the error names it. */
  what: string
  packageName: string
  isThere(): Promise<boolean>
  beforeInstall?(): Promise<unknown>
}

/** For what does not come from npm: where it is missing, and this process is root, the package of the system is installed. */
export async function requirePackage({ what, packageName, isThere, beforeInstall }: Requirement): Promise<void> {
  if (await isThere()) return
  if (process.getuid?.() === 0 && (await answers('apt-get', '--version'))) {
    await beforeInstall?.()
    await install(packageName)
      .catch(() => install(packageName))
      .catch(() => {})
  }
  if (!(await isThere())) throw new Error(`the tests need ${what}: install it (on Debian: apt-get install ${packageName})`)
}

export const requireCommand = (command: string, packageName = command): Promise<void> =>
  requirePackage({ what: `${command} on the PATH`, packageName, isThere: () => answers(command, '--version') })

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

const answers = (command: string, ...args: string[]) =>
  run(command, args).then(
    () => true,
    () => false,
  )

async function install(name: string): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  await run('apt-get', ['-qq', 'update'], { env })
  await run('apt-get', ['-qq', 'install', '-y', '--no-install-recommends', name], { env })
}

/** For what does not come from npm: where `command` is missing, and this process is root, the package of the system is installed. */
export async function requireCommand(command: string, packageName = command): Promise<void> {
  if (await answers(command, '--version')) return
  if (process.getuid?.() === 0 && (await answers('apt-get', '--version')))
    await install(packageName)
      .catch(() => install(packageName))
      .catch(() => {})
  if (!(await answers(command, '--version')))
    throw new Error(`the tests need ${command} on the PATH: install it (on Debian: apt-get install ${packageName})`)
}

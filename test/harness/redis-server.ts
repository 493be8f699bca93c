import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

const answers = (command: string, ...args: string[]) =>
  run(command, args).then(
    () => true,
    () => false,
  )

/** Redis does not come from npm: where it is missing, and this process is root, the package of the system is installed. */
export default async function setup(): Promise<void> {
  if (await answers('redis-server', '--version')) return
  if (process.getuid?.() === 0 && (await answers('apt-get', '--version')))
    await install()
      .catch(install)
      .catch(() => {})
  if (!(await answers('redis-server', '--version')))
    throw new Error('the tests need redis-server on the PATH: install it (on Debian: apt-get install redis-server)')
}

async function install(): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  await run('apt-get', ['-qq', 'update'], { env })
  await run('apt-get', ['-qq', 'install', '-y', '--no-install-recommends', 'redis-server'], { env })
}

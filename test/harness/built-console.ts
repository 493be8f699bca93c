import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ConsoleSource } from '../../api/console/source.ts'
import { builtFolder } from '../../app/console/build.ts'

const ROOT = join(import.meta.dirname, '../..')
const run = promisify(execFile)

/** The pages of the console as users get them. They are built by the first file that wants them, and for the others only if a source has changed. */
export async function builtConsole(): Promise<ConsoleSource> {
  // With the environment of the tests, React would be built for developers.
  await run(process.execPath, ['web/build-console.ts', '--needed'], { cwd: ROOT, env: { ...process.env, NODE_ENV: 'production' } })
  return { folder: builtFolder(ROOT), state: () => 'built' }
}

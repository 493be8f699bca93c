import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ConsoleSource } from '../../api/console/source.ts'
import { builtFolder, builtStamp } from '../../app/console/build.ts'
import { stampOf } from '../../app/console/stamp.ts'

const ROOT = join(import.meta.dirname, '../..')
const run = promisify(execFile)
const source: ConsoleSource = { folder: builtFolder(ROOT), state: () => 'built' }

/** The pages of the console as users get them. They are built by the first file that wants them, and for the others only if a source has changed. */
export async function builtConsole(): Promise<ConsoleSource> {
  // The program loads the bundler before it looks.
  if ((await builtStamp(ROOT)) === (await stampOf(ROOT))) return source
  // With the environment of the tests, React would be built for developers.
  await run(process.execPath, ['web/build-console.ts', '--needed'], { cwd: ROOT, env: { ...process.env, NODE_ENV: 'production' } })
  return source
}

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import type { ConsoleSource } from '../../api/console/source.ts'
import { builtFolder, builtStamp } from './build.ts'
import { stampOf } from './stamp.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The program of `npm run build:console`. */
const PROGRAM = fileURLToPath(new URL('../../web/build-console.ts', import.meta.url))
/** What a build needs of the environment: no secret of the service is among it. */
const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'DENO_DIR', 'NODE_COMPILE_CACHE']
const MOST_OF_OUTPUT = 4_000

export const BUILD_COMMAND = 'npm ci && npm run build:console'

/** `begin`: builds the pages in the background if they are not those of the sources; `close` ends a build that is under way. */
export type StartedConsole = ConsoleSource & { begin(): void; close(): Promise<void> }

/** The pages of the console in the tree of sources at `root`. */
export function consoleSource(log: Pick<Logger, 'info' | 'warn'>, root = ROOT): StartedConsole {
  const folder = builtFolder(root)
  const isThere = () => existsSync(join(folder, 'manifest.json'))
  const canBuild = ['node_modules/vite/package.json', 'web/console/vite.config.ts'].every(name => existsSync(join(root, name)))
  const stopped = new AbortController()
  let isBuilding = canBuild && !isThere()
  let building: Promise<void> = Promise.resolve()

  async function buildIfNeeded(): Promise<void> {
    const stamp = await builtStamp(root)
    if (!canBuild) {
      if (!isThere()) log.warn(`the console is not built, and what builds it is not installed: ${BUILD_COMMAND}`)
      return
    }
    if (isThere() && stamp === (await stampOf(root))) return
    isBuilding = true
    log.info('the console is being built')
    const began = performance.now()
    const { code, output } = await run(root, stopped.signal)
    if (code === 0) log.info({ ms: Math.round(performance.now() - began) }, 'the console is built')
    else if (!stopped.signal.aborted) log.warn({ why: output }, 'the console could not be built')
  }

  return {
    folder,
    state: () => (isThere() ? 'built' : isBuilding ? 'building' : 'missing'),
    begin() {
      building = buildIfNeeded()
        .catch(error => log.warn({ why: (error as Error).message }, 'the console could not be built'))
        .finally(() => {
          isBuilding = false
        })
    },
    async close() {
      stopped.abort()
      await building
    },
  }
}

/** Runs the program in a process of its own, which leaves the processors to others. */
function run(root: string, signal: AbortSignal): Promise<{ code: number | null; output: string }> {
  const env = Object.fromEntries(INHERITED.flatMap(name => (process.env[name] === undefined ? [] : [[name, process.env[name]]])))
  const program = 'Deno' in globalThis ? ['run', '-A', PROGRAM] : [PROGRAM]
  const child = spawn(execPath, [...program, '--needed', root], { cwd: root, env, stdio: ['ignore', 'ignore', 'pipe'], signal })
  let output = ''
  child.stderr.on('data', chunk => {
    output = (output + chunk).slice(-MOST_OF_OUTPUT)
  })
  try {
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // It has ended already.
  }
  return new Promise(resolve => {
    child.once('error', error => resolve({ code: null, output: error.message }))
    child.once('close', code => resolve({ code, output: output.trim() }))
  })
}

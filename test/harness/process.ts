import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Running = {
  child: ChildProcess
  /** The address that the process printed; '' for a worker. */
  url: string
  /** The output so far. */
  output(): string
  /** Sends the signal and waits for the end. Returns the exit code; null when the signal killed the process. */
  end(signal?: NodeJS.Signals): Promise<number | null>
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const BINS = join(ROOT, 'node_modules/.bin')

/** A program of the product or of a test, as `cli/main.ts`: where it is built, or else its source. */
export function programAt(path: string): string {
  const built = process.env.TEST_BUILT && join(process.env.TEST_BUILT, path.replace(/ts$/, 'mjs'))
  return built && existsSync(built) ? built : path
}

/** Where processes keep what they have compiled. */
const compileCache = (): string => join(process.env.TEST_BUILT || ROOT, 'node_modules/.cache/perennial')

/** The commands of `npm start` and `npm run start:deno`, or of a program of the test: by default on the runtime of the test. */
const commandOf = (script?: string, runtime?: 'deno'): string[] => {
  if ('Deno' in globalThis) return [process.execPath, 'run', '-A', script ?? 'app/main.ts']
  // The command of the package is a process of its own, which passes on no signal.
  if (runtime === 'deno')
    return ['sh', '-c', `exec "$(${BINS}/deno eval 'console.log(Deno.execPath())')" run -A ${script ?? 'app/main.ts'}`]
  // Some tell which file of the product has called.
  return script ? [process.execPath, '--enable-source-maps', programAt(script)] : [process.execPath, programAt('start.mjs')]
}

/** The variables that a process inherits: none that configures the product or the test runner. */
const inherited = () =>
  Object.fromEntries(['PATH', 'HOME', 'TMPDIR', 'LANG', 'DENO_DIR'].flatMap(name => (process.env[name] ? [[name, process.env[name]]] : [])))

/** A test that runs out of time while it starts a process knows nothing of it. */
const running = new Set<ChildProcess>()

/** Kills what a test file has started and not ended: it would work on without a database, beside all other files. */
export const killLeft = (): void => {
  for (const child of running) child.kill('SIGKILL')
}

/** `script`: a program of the test in place of the product. `under`: a command that starts it, as `nice -n 19`. */
export type SpawnOptions = {
  env: Record<string, string>
  args?: string[]
  cwd?: string
  script?: string
  under?: string[]
  runtime?: 'deno'
}

/** Starts the product as its own process and does not wait until it is ready. */
export function launch({
  env,
  args = [],
  cwd = ROOT,
  script,
  under = [],
  runtime,
}: SpawnOptions): Omit<Running, 'url'> & { ended: Promise<number | null> } {
  const [command = '', ...rest] = [...under, ...commandOf(script, runtime)]
  // As start.mjs does for the product.
  const compiled = script ? { NODE_COMPILE_CACHE: compileCache() } : {}
  // A start would build the pages of the console.
  const pages = { CONSOLE: 'off' }
  // No load balancer of a test waits for it.
  const prompt = { DRAIN_SECONDS: '0' }
  const child = spawn(command, [...rest, ...args], {
    cwd,
    env: { ...inherited(), ...compiled, ...pages, ...prompt, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => (text += chunk))
  running.add(child)
  const ended = new Promise<number | null>(resolve => child.once('close', code => resolve(code)))
  void ended.then(() => running.delete(child))
  return {
    child,
    ended,
    output: () => text,
    async end(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) process.kill(child.pid!, signal)
      return ended
    },
  }
}

/** The last line that the product prints at its start, so that all lines before it have been read. */
const READY = /curl -H .* (\S+)\/v4\/events\n|Perennial worker is ready|Perennial analytics is ready at (\S+)/

/** Begins the line of a test's worker that is about to stop itself. */
export const FROZEN = 'Frozen at'

/** Starts the product and waits for its ready line. Throws its output when it ends before. */
export async function run(options: SpawnOptions): Promise<Running> {
  const product = launch(options)
  await new Promise<void>((resolve, reject) => {
    const check = () => READY.test(product.output()) && resolve()
    product.child.stdout?.on('data', check)
    void product.ended.then(code => reject(new Error(`ended with ${code}: ${product.output()}`)))
  })
  const [, api, analytics] = READY.exec(product.output()) ?? []
  return { ...product, url: api ?? analytics ?? '' }
}

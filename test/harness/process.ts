import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export type Running = {
  child: ChildProcess
  /** Address that the process printed; '' for a worker. */
  url: string
  /** All that it has printed so far. */
  output(): string
  /** Sends the signal and waits for the end. Code of the exit, null when killed by the signal. */
  end(signal?: NodeJS.Signals): Promise<number | null>
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** As `npm start` and `npm run start:deno` do; the product runs on the runtime that runs the test. */
const COMMAND = 'Deno' in globalThis ? [process.execPath, 'run', '-A', 'app/main.ts'] : [process.execPath, 'start.mjs']

/** What a process inherits; nothing that configures the product or the test runner. */
const inherited = () =>
  Object.fromEntries(['PATH', 'HOME', 'TMPDIR', 'LANG', 'DENO_DIR'].flatMap(name => (process.env[name] ? [[name, process.env[name]]] : [])))

/** `script`: a program of the test's own in place of the product's. */
export type SpawnOptions = { env: Record<string, string>; args?: string[]; cwd?: string; script?: string }

/** Starts the product as a process of its own, without waiting for anything. */
export function launch({ env, args = [], cwd = ROOT, script }: SpawnOptions): Omit<Running, 'url'> & { ended: Promise<number | null> } {
  const [command = '', ...rest] = script ? [...COMMAND.slice(0, -1), script] : COMMAND
  // As start.mjs does for the product.
  const compiled = script ? { NODE_COMPILE_CACHE: `${ROOT}node_modules/.cache/perennial` } : {}
  const child = spawn(command, [...rest, ...args], { cwd, env: { ...inherited(), ...compiled, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => (text += chunk))
  const ended = new Promise<number | null>(resolve => child.once('close', code => resolve(code)))
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

/** The last line of the greeting, so that everything before it has been read. */
const READY = /curl -H .* (\S+)\/v4\/events\n|Perennial worker is ready/

/** Starts the product and waits until it says that it is ready. Throws what it printed when it ends instead. */
export async function run(options: SpawnOptions): Promise<Running> {
  const product = launch(options)
  await new Promise<void>((resolve, reject) => {
    const look = () => READY.test(product.output()) && resolve()
    product.child.stdout?.on('data', look)
    void product.ended.then(code => reject(new Error(`ended with ${code}: ${product.output()}`)))
  })
  return { ...product, url: READY.exec(product.output())?.[1] ?? '' }
}

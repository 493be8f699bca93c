import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { CliCommand } from '../../cli/command.ts'
import { lineOf } from '../../cli/failure.ts'
import { programAt } from '../harness/process.ts'

export type CommandResult = { code: number | null; out: string; notes: string }

/** Calls a command in this process, as main.ts would; an error that it has no line for is thrown on. */
export async function call(
  command: CliCommand,
  args: string[],
  env: Record<string, string>,
  signal = new AbortController().signal,
  stdin: string | Uint8Array | Readable = '',
): Promise<CommandResult> {
  const out: string[] = []
  const notes: string[] = []
  const resultOf = (code: number) => ({ code, out: out.join('\n'), notes: notes.join('\n') })
  try {
    return resultOf(
      await command(args, {
        env,
        signal,
        stdin: () => (stdin instanceof Readable ? stdin : Readable.from([stdin])),
        out: line => out.push(line),
        note: line => notes.push(line),
      }),
    )
  } catch (error) {
    const line = lineOf(error)
    if (line === undefined) throw error
    notes.push(line)
    return resultOf(1)
  }
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const entry = () => ('Deno' in globalThis ? ['run', '-A', 'cli/main.ts'] : [programAt('start.mjs'), 'cli'])

/** Starts the command line as a process of its own, on the runtime of the test. */
export function start(args: string[], env: Record<string, string> = {}, stdin: 'ignore' | 'pipe' = 'ignore') {
  const { PATH = '', HOME = '', DENO_DIR } = process.env
  const child = spawn(process.execPath, [...entry(), ...args], {
    cwd: ROOT,
    env: { PATH, HOME, ...(DENO_DIR && { DENO_DIR }), ...env },
    stdio: [stdin, 'pipe', 'pipe'],
  })
  let out = ''
  let notes = ''
  child.stdout!.on('data', chunk => (out += chunk))
  child.stderr!.on('data', chunk => (notes += chunk))
  // Deno takes the exit code 130 for the signal that it stands for.
  const codeOf = (code: number | null, signal: string | null) => ('Deno' in globalThis && signal === 'SIGINT' ? 130 : code)
  const ended = new Promise<CommandResult>(resolve =>
    child.once('close', (code, signal) => resolve({ code: codeOf(code, signal), out, notes })),
  )
  return { child, ended }
}

/** A folder that ends with the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'perennial-cli-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

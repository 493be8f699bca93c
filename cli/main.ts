import process from 'node:process'
import { analytics } from './analytics.ts'
import { backup } from './backup.ts'
import type { CliCommand, CommandContext } from './command.ts'
import { isUsageError, lineOf, UsageError } from './failure.ts'
import { importCsv } from './import/command.ts'
import { project } from './project.ts'
import { rates } from './rates/command.ts'
import { restore } from './restore.ts'
import { screens } from './screens/command.ts'
import { setAside } from './set-aside.ts'
import { stores } from './stores.ts'
import { IMPORT_USAGE, STORES_USAGE, USAGE } from './usage.ts'

const TOPICS = new Map([
  ['import', IMPORT_USAGE],
  ['stores', STORES_USAGE],
])

const help: CliCommand = async ([topic], { out }) => {
  out(TOPICS.get(topic ?? '') ?? USAGE)
  return 0
}

const COMMANDS = new Map<string, CliCommand>([
  ['project', project],
  ['import', importCsv],
  ['rates', rates],
  ['analytics', analytics],
  ['backup', backup],
  ['restore', restore],
  ['set-aside', setAside],
  ['stores', stores],
  ['screens', screens],
  ['help', help],
  ['--help', help],
  ['-h', help],
])

async function run([name = '', ...args]: string[], context: CommandContext): Promise<number> {
  const command = COMMANDS.get(name)
  if (command === undefined) throw new UsageError(name === '' ? 'which command?' : `there is no command ${JSON.stringify(name)}`)
  return command(args, context)
}

/** The first Ctrl-C stops the command in good order. The second ends the process at once. */
function interruption(): AbortSignal {
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping.signal.aborted) process.exit(130)
      stopping.abort()
    })
  }
  return stopping.signal
}

async function main(): Promise<number> {
  // `node start.mjs cli …` or this file itself.
  const args = process.argv.slice(2)
  if (args[0] === 'cli') args.shift()
  const signal = interruption()
  const out = (line: string) => void process.stdout.write(`${line}\n`)
  const note = (line: string) => void process.stderr.write(`${line}\n`)
  try {
    return await run(args, { env: process.env, signal, stdin: () => process.stdin, out, note })
  } catch (error) {
    const line = lineOf(error)
    if (signal.aborted) {
      note(`perennial: ${line ?? 'stopped'}`)
      return 130
    }
    if (line === undefined) console.error(error)
    else note(`perennial: ${line}`)
    if (isUsageError(error)) note(TOPICS.has(args[0] ?? '') ? `See "help ${args[0]}".` : `\n${USAGE}`)
    return 1
  }
}

// Not exit(): printed lines may not have reached the pipe yet. Signal handlers do not keep a process alive.
process.exitCode = await main()

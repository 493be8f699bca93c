import process from 'node:process'
import { retiredNotes } from '../app/retired-settings.ts'
import { version } from '../schemas/version.ts'
import { root } from './commands.ts'
import { reached } from './definition.ts'
import { lineOf, UsageError } from './failure.ts'
import { execute, parse } from './program.ts'

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

/** Where to read on after a wrong call: the help of the command, or of the program if no command is named. */
function printHelp(args: string[], note: (line: string) => void): void {
  const { words } = reached(root, args[0] === 'help' ? args.slice(1) : args)
  if (words.length > 0) note(`See "help ${words.join(' ')}".`)
  else parse(root, ['--help'], text => note(`\n${text.trimEnd()}`))
}

async function main(): Promise<number> {
  // `node start.mjs cli …` or this file itself.
  const args = process.argv.slice(2)
  if (args[0] === 'cli') args.shift()
  const signal = interruption()
  const out = (line: string) => void process.stdout.write(`${line}\n`)
  const note = (line: string) => void process.stderr.write(`${line}\n`)
  for (const line of retiredNotes(process.env)) note(`perennial: ${line}`)
  try {
    return await execute(root, args, { env: process.env, signal, stdin: () => process.stdin, out, note }, version())
  } catch (error) {
    const line = lineOf(error)
    if (signal.aborted) {
      note(`perennial: ${line ?? 'stopped'}`)
      return 130
    }
    if (line === undefined) console.error(error)
    else note(`perennial: ${line}`)
    if (error instanceof UsageError) printHelp(args, note)
    return 1
  }
}

// Not exit(): printed lines may not have reached the pipe yet. Signal handlers do not keep a process alive.
process.exitCode = await main()

import type { Readable } from 'node:stream'
import type { Trail } from '../domain/kernel/audit/record.ts'

/** What a command gets besides its arguments. */
export type CommandContext = {
  env: Record<string, string | undefined>
  /** Aborts when the operator presses Ctrl-C. */
  signal: AbortSignal
  stdin: () => Readable
  /** Prints a line of the result, on standard output. */
  out: (line: string) => void
  /** Prints a line of progress or a warning, on standard error. */
  note: (line: string) => void
}

/** Resolves to the exit code: 0 done, 1 failed, 2 partly done. */
export type CliCommand = (args: string[], context: CommandContext) => Promise<number>

/** The operator as the audit log names it. Under sudo USER is root, so SUDO_USER comes first. */
export const actorOf = (env: CommandContext['env']): Trail['actor'] => ({ kind: 'cli', id: env.SUDO_USER || env.USER || null })

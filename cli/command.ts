/** What a command gets beside its arguments. */
export type Context = {
  env: Record<string, string | undefined>
  /** Aborted when the operator presses Ctrl-C. */
  signal: AbortSignal
  /** A line of the answer. */
  out: (line: string) => void
  /** A line beside it: progress, warnings. */
  note: (line: string) => void
}

/** Returns the exit code: 0 done, 1 failed, 2 done in part. */
export type Command = (args: string[], context: Context) => Promise<number>

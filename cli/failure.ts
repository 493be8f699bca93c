import { operatorLine } from '../app/exit-line.ts'

/** The message is the one line that is printed before exit 1. */
export class CliError extends Error {}

/** The command was not called as it should be: the usage is shown too. */
export class UsageError extends CliError {}

/** What the operator is told in one line; undefined for a fault of the program, which is shown with its stack. */
export function lineOf(error: unknown): string | undefined {
  if (error instanceof CliError) return error.message
  return codeOf(error).startsWith('ERR_PARSE_ARGS') ? (error as Error).message.split('\n')[0] : operatorLine(error)
}

export const isUsageError = (error: unknown): boolean => error instanceof UsageError || codeOf(error).startsWith('ERR_PARSE_ARGS')

/** The errno of a failed file operation or connection; '' for any other error. */
export const codeOf = (error: unknown): string => {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}
